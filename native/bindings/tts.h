// Adds the classes of Kazeia's own voice to the Python module.
#pragma once

#include <pybind11/pybind11.h>

void add_tts(pybind11::module_& module);
