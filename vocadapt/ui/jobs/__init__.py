"""Jobs: `view` (page Jobs), `panel` (the job of a page), `strip` (status in the header), `step_form`
(steps without a page of their own).
"""
