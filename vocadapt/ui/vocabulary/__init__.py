"""Page Vocabulary: `view` (reduction), `profiles` (vocabularies compared)."""
