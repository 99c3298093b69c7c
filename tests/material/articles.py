"""Synthetic articles in the formats of PubMed, PMC and CORD-19, with every known edge case."""

import json

DOCTYPE = (
    '<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2024//EN"'
    ' "https://example.org/pubmed_240101.dtd">'
)
PUBMED = f"""<?xml version="1.0" encoding="utf-8"?>
{DOCTYPE}
<PubmedArticleSet>
<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">1</PMID><Article PubModel="Print">
  <Journal><Title>Journal of Invented Trials</Title></Journal><ArticleTitle>A title that is not read</ArticleTitle>
  <Abstract>
    <AbstractText Label="BACKGROUND" NlmCategory="BACKGROUND">Aspirin was given to
      100\N{NO-BREAK SPACE}patients.</AbstractText>
    <AbstractText Label="RESULTS">H<sub>2</sub>O and <i>E. coli</i> at 10<sup>6</sup>; p&lt;0.05 &amp; &#945;=1.</AbstractText>
    <CopyrightInformation>Copyright of nobody</CopyrightInformation>
  </Abstract>
  <AuthorList><Author><LastName>Nobody</LastName></Author></AuthorList><Language>eng</Language>
</Article>
<OtherAbstract Type="Publisher" Language="fre"><AbstractText>Le texte ailleurs.</AbstractText></OtherAbstract>
<OtherAbstract Type="plain-language-summary" Language="eng"><AbstractText>In plain words.</AbstractText></OtherAbstract>
</MedlineCitation>
<PubmedData><ReferenceList><Reference><Citation>Somebody 1999</Citation></Reference></ReferenceList></PubmedData>
</PubmedArticle>
<PubmedArticle><MedlineCitation><Article><Abstract><AbstractText>Of a French article.</AbstractText></Abstract>
  <Language>fre</Language></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><Article><Abstract><AbstractText>Of an article in two languages.</AbstractText></Abstract>
  <Language>ger</Language><Language>eng</Language></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><Article><ArticleTitle>No abstract</ArticleTitle><Language>eng</Language></Article>
</MedlineCitation></PubmedArticle>
</PubmedArticleSet>
"""
PUBMED_LINES = [
    "Aspirin was given to 100 patients.",
    "H2O and E. coli at 106; p<0.05 & α=1.",
    "In plain words.",
    "Of an article in two languages.",
]

JATS = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.2//EN" "JATS-archivearticle1.dtd">
<article xmlns:mml="http://www.w3.org/1998/Math/MathML" xmlns:xlink="http://www.w3.org/1999/xlink" xml:lang="en">
<front><journal-meta><journal-title>Journal</journal-title></journal-meta><article-meta>
  <title-group><article-title>A title that is not read</article-title></title-group>
  <abstract><sec><title>Background</title><p>Dyspnea is common.</p></sec>
  <sec><title>Aim</title><p>We&nbsp;ask why.</p></sec></abstract>
  <trans-abstract xml:lang="es"><p>La disnea es frecuente.</p></trans-abstract>
  <abstract xml:lang="de"><p>Atemnot ist verbreitet.</p></abstract>
  <kwd-group><kwd>keyword</kwd></kwd-group></article-meta></front>
<body><sec><title>Introduction</title>
  <p>Known since <italic>Homer</italic> [<xref ref-type="bibr" rid="r1">1</xref>,<xref ref-type="bibr" rid="r2">2</xref>] as a
     disease<sup><xref ref-type="bibr" rid="r3">3</xref></sup> (<xref ref-type="fig" rid="f1">Fig. 1</xref>)<fn><p>Note.</p></fn>.
     <!-- a comment --><?pi with words?></p>
  <p>Seen in
    <fig id="f1"><label>Figure 1</label><caption><title>Title of it</title><p>Lungs of a mouse.</p></caption>
      <graphic xlink:href="f1.jpg"><alt-text>words for the blind</alt-text></graphic></fig>
    most cases.</p>
  <p>If <inline-formula><alternatives><tex-math>\\documentclass{x}</tex-math><mml:math><mml:mi>p</mml:mi><mml:mo>&lt;</mml:mo>
<mml:mn>1</mml:mn></mml:math></alternatives></inline-formula> then<disp-formula><tex-math>x^2</tex-math></disp-formula>holds.</p>
  <table-wrap><label>1</label><caption><p>Of the table.</p></caption><table><tr><td><p>cell</p></td></tr></table></table-wrap>
  <p>Two kinds:<list><list-item><label>a</label><p>dry</p></list-item><list-item><p>wet</p></list-item></list></p>
  <p> </p><p><![CDATA[Raw <b> & text]]><break/>on.</p>
</sec></body>
<back><ack><p>We thank nobody.</p></ack><ref-list><ref><mixed-citation>Homer</mixed-citation></ref></ref-list></back>
<floats-group><fig><caption><p>A floating figure.</p></caption></fig></floats-group>
<sub-article article-type="translation" xml:lang="pt"><body><p>Sabe-se desde Homero.</p></body></sub-article>
<response><body><p>We reply.</p></body></response>
</article>
"""
JATS_LINES = [
    "Dyspnea is common.",
    "We ask why.",
    "Known since Homer [1,2] as a disease 3 (Fig. 1).",
    "Lungs of a mouse.",
    "Seen in most cases.",
    "If p< 1 then holds.",
    "dry",
    "wet",
    "Two kinds:",
    "Raw <b> & text on.",
    "A floating figure.",
    "We reply.",
]
SPANISH = '<article xml:lang="es"><body><p>Nada que leer.</p></body></article>'

CORD = {
    "paper_id": "0" * 40,
    "metadata": {"title": "A title that is not read", "authors": []},
    "abstract": [{"text": "Warfarin thins\nthe blood.", "cite_spans": [], "section": "Abstract"}],
    "body_text": [
        {
            "text": "Shown before [1].",
            "cite_spans": [{"start": 13, "end": 16, "text": "[1]"}],
            "section": "Intro",
        },
        {"text": " ", "section": "Intro"},
        {"text": "Half \ud800 of a pair.", "section": "Intro"},
    ],
    "ref_entries": {"FIGREF0": {"text": "A caption that is not read", "type": "figure"}},
    "bib_entries": {"BIBREF0": {"title": "Not read"}},
}
CORD_LINES = [
    "Warfarin thins the blood.",
    "Shown before [1].",
    "Half ??? of a pair.",
]  # with ? for U+FFFD


def cord(**changes: object) -> str:
    """A CORD-19 article as JSON, with some keys changed; None takes one away."""
    return json.dumps({key: value for key, value in (CORD | changes).items() if value is not None})
