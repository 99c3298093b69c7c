"""What a page of the app shows, as streamlit.testing.v1.AppTest has drawn it."""

from collections.abc import Iterable

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Element

from vocadapt.ui.state.pages import find_link

SENTENCES = ("markdown", "text", "caption", "error", "warning", "info", "success")


def list_texts(app: AppTest) -> list[str]:
    """The texts of a page, one by one."""
    return [element.value for kind in SENTENCES for element in app.get(kind)]


def list_plain_texts(app: AppTest) -> list[str]:
    """The texts of a page, without the backslashes of Markdown."""
    return [text.replace("\\", "") for text in list_texts(app)]


def read_page(app: AppTest) -> str:
    """The texts of a page, a line each."""
    return "\n".join(list_texts(app))


def join_values(elements: Iterable[Element]) -> str:
    """The values of elements, as of `app.code`, a line each."""
    return "\n".join(str(element.value) for element in elements)


def markup(app: AppTest) -> str:
    """The HTML of a page."""
    return "".join(element.proto.body for element in app.get("html"))


def read_metrics(app: AppTest) -> dict[str, str]:
    """The metrics of a page: label → value."""
    return {metric.label: metric.value for metric in app.metric}


def list_button_keys(app: AppTest) -> list[str]:
    """The keys of the buttons of a page."""
    return [button.key for button in app.button]


def press(app: AppTest, label: str) -> AppTest:
    """Press the button with a label, and run the page."""
    return next(button for button in app.button if button.label == label).click().run()


def go_to(app: AppTest, part: str) -> AppTest:
    """Follow a link to a part."""
    page, parameters = find_link(part)
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.switch_page(page).run()
