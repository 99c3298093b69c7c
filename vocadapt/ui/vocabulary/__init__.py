"""Page Vocabulary: `view` (reduction), `profiles` (comparison of vocabularies)."""
