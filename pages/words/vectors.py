"""Word vectors: text of the domain in, vectors out; or ready vectors brought in."""

import streamlit as st

from vocadapt.ui import cache, choose, frame, job_panel, making, vectors_view

workspace = frame.workspace()
st.title("Word vectors")
st.markdown(
    "Learn what the :orange[**words of your domain**] mean from a text of it, or bring vectors that"
    " are ready."
)
job_panel.job_panel(workspace, ["corpus", "vectors", "import"])

found, corpora = workspace.artefacts("vectors"), workspace.artefacts("corpora")
if found:
    vectors = vectors_view.headline(workspace, found)
    space = cache.space_of(vectors)
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.subheader("What is near a word")
        vectors_view.near_words(vectors, workspace, choose.model_behind(vectors, workspace))
    with right:
        st.subheader("How often words occur")
        vectors_view.frequencies(
            space, vectors.manifest.settings.get("word2vec", {}).get("min_count", 0)
        )
        vectors_view.judgement(vectors, space)
else:
    choose.nothing_yet(
        "There are no word vectors in this workspace yet.",
        "Take in a text of your domain, then train on it: a few million words make useful vectors,"
        " in minutes. Nothing starts before you press a button.",
    )

st.subheader("Make word vectors" if not found else "Make others")
model = choose.pick_model(workspace, "vectors_model")
text, train, ready = st.tabs(
    ["1 · Take in text", "2 · Train", "Import ready vectors"],
    default="2 · Train" if corpora else None,
)
with text:
    making.take_text(workspace, model)
with train:
    if corpora:
        making.train(workspace, model, corpora)
    else:
        st.markdown("Take in a text first.")
with ready:
    making.bring_vectors(workspace, model, corpora)

if found:
    with st.expander("All words", icon=":material/table_rows:"):
        vectors_view.word_table(space)
    vectors_view.details(vectors, space)
