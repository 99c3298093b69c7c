"""The keys of the address, as the source of the pages names them."""

import ast

from tests.material.sources import list_modules, list_nodes, parse, read_source

FOLDERS = {  # folders of ui/ that are not named as the prefix of their page
    "try_it": "try",
    "state": "workspace",
    "shell": "workspace",
}
MODULES = {"vectors/contextual": "change"}  # files that belong to another page than their folder
LINKED = {"draw_linked_setting": 2, "draw_preset": 1}  # they bind the key that they are given
PICKERS = {  # function → the place of its key among the arguments
    "pick": 2,
    "pick_name": 2,
    "pick_or_type": 3,
    "pick_several": 3,
    "pick_model": 1,
    "pick_target": 2,
    "pick_space": 2,
    "pick_named": 1,
    "draw_word_input": 0,
    **LINKED,
    "restore_selection": 0,
    "restore_selections": 0,
    "restore_text": 0,
    "write": 0,
    "choose_models": 1,
}
HELPERS = {
    "components/pickers",
    "state/address",
    "components/curves",
    "components/word_query",
    "lens/view",
}  # they are given the key
SOURCES = list_modules("vocadapt/ui", "pages")


def keys_of(path):
    """Every key that a file binds to the address or keeps for the session, as text; names of
    constants by their value.
    """
    constants = constants_of(path)
    for node in list_nodes(parse(read_source(path))):
        if not isinstance(node, ast.Call):
            continue
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        function = getattr(node.func, "attr", getattr(node.func, "id", ""))
        key = None
        if {"bind", "persist_state"} & set(named):
            key = key_of(node, function, named)
        of_stream = (
            function == "write"
            and getattr(getattr(node.func, "value", None), "id", "") != "address"
        )
        if function in PICKERS and len(node.args) > PICKERS[function] and not of_stream:
            key = named.get("key", node.args[PICKERS[function]])
        if isinstance(key, ast.Name):
            key = ast.Constant(constants[key.id]) if key.id in constants else None
        if isinstance(key, ast.JoinedStr):
            key = key.values[0]
        if isinstance(key, ast.Constant):
            yield str(key.value)


def constants_of(path):
    """The constants of a module: name -> value."""
    constants = {}
    for node in parse(read_source(path)).body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = (
                    zip(target.elts, node.value.elts, strict=True)
                    if several
                    else [(target, node.value)]
                )
                constants |= {
                    name.id: value.value for name, value in pairs if isinstance(value, ast.Constant)
                }
    return constants


def key_of(call, function, named):
    """The expression of the key of a widget or of a drawn setting."""
    if function == "draw_setting" and len(call.args) > 3:
        return call.args[3]
    if function in LINKED:
        return call.args[LINKED[function]]
    return named.get("key")


def part_of(path):
    """The part that a file belongs to."""
    folder = path.parent.name
    return MODULES.get(place_of(path), FOLDERS.get(folder, folder))


def place_of(path):
    """Folder and name of a file, as in HELPERS and MODULES."""
    return f"{path.parent.name}/{path.stem}"
