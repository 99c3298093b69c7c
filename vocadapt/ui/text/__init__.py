"""The part Text: import a text, and see how a model tokenizes it. `page` draws it from `view`."""
