"""Readers of files of examples: table_rows (columns and JSON lines), conll (tagged words), squad
(questions on contexts).
"""
