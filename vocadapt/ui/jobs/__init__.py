"""Jobs: `view` (page Jobs), `panel` (the job of a page, and the strip in the header)."""
