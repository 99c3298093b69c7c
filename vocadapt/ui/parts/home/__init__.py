"""Part Home: `page`."""
