"""Readers of text files, each a stream of blocks of lines with bounded memory.

Read in this order: `text_file` (UTF-8 text, plain or gzipped), `readers` (text, JSON lines),
`text_table` (CSV and TSV), `parquet`, `articles` (format detection, CORD-19) and `article_xml`
(PubMed and JATS).
"""
