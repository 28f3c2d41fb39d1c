// Adds what is done for each token of the language model to the Python module.
#pragma once

#include <pybind11/pybind11.h>

void add_llm(pybind11::module_& module);
