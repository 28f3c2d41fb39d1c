"""The page of models: what is here, getting, checking, converting and deleting."""
