"""Readers of task files by kind: ner (tagged words), labeled_texts (classification, relations,
multi-label, NLI), qa (SQuAD).
"""
