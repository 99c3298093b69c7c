"""Part Neighborhood change, in reading order: `page`; `comparisons` (finished, computed now, or by a
job), `noise_baseline` (its picker, meaning and buttons); `view` (figures and details), `word_list`
(histogram, ranked list, frequency), `neighbors` (of one word).
"""
