"""The page as one file: its parts, and the policy that allows them and nothing else."""

import re
import shutil
import subprocess

import pytest

from patchwork_env.play.assembly import allowed_by, assembled, bundled, without_comments
from patchwork_env.play.server import HEADERS, PAGE
from tests.play.client import Client


def test_scripts_lose_comments_and_indentation_and_nothing_else():
    script = """
/** What it does. */
/**
 * More of it: `code`.
 */
export function half(x) {
  // the shorter half
  const text = "/* no comment */ // nor this";
  /* in */ return x / 2; // after code
/* after */}
"""
    assert without_comments(script).splitlines() == [
        "export function half(x) {",
        'const text = "/* no comment */ // nor this";',
        "/* in */ return x / 2; // after code",
        "/* after */}",
    ]
    assert without_comments(template := "const text = `\n  indented\n`;\n") == template


def written(folder, **modules):
    """Write modules into a folder; return the path of ``main``."""
    for name, code in modules.items():
        (folder / f"{name}.js").write_text(code, encoding="utf-8")
    return folder / "main.js"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_modules_become_one_script(tmp_path):
    main = written(
        tmp_path,
        main='import {\n  double as twice,\n  half,\n} from "./numbers.js";\n'
        'import * as words from "./words.js";\n'
        "console.log(twice(4), half(4), words.name, words.Word.name);\n"
        'import("./words.js").then(console.log);\n',
        numbers='import { name } from "./words.js";\nexport const double = (x) => x + x;\n'
        "export function half(x) {\n  return `${name} ${x / 2}`;\n}\n",
        words='export const name = "N";\nexport class Word {}\nexport async function* later() {}\n',
    )
    done = subprocess.run(["node", "-e", bundled(main)], capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "8 N 2 N Word", done.stderr
    assert "later: [AsyncGeneratorFunction" in done.stdout


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('import "./other.js";\n', "main.js cannot be bundled: 'import \"./other.js\";'"),
        ("export default 1;\n", "'export default 1;'"),
        ("const here = import.meta.url;\n", "'import.meta'"),
        ('const tag = "</script>";\n', "'</script'"),
        ('import { a } from "./other.js";\n', "modules import each other: main.js > other.js > main.js"),
    ],
)
def test_scripts_that_cannot_be_bundled_are_refused(tmp_path, code, words):
    main = written(tmp_path, main=code, other='import { b } from "./main.js";\nexport const a = b;\n')
    with pytest.raises(ValueError, match=re.escape(words)):
        bundled(main)


def test_the_page_needs_no_other_style_or_script(tmp_path):
    html = assembled(PAGE, "wasm")
    assert not re.search(r'<link rel="stylesheet"|<script[^>]* src=', html)
    style = without_comments((PAGE / "style" / "layout.css").read_text(encoding="utf-8"))
    assert style in html.partition("</style>\n</head>")[0]
    assert '<meta name="backend" content="wasm">' in html
    assert html.index("در حال بارگذاری") < html.index('id="table"') < html.index("class Page")
    (tmp_path / "index.html").write_text(html := '<script type="application/json" id="words"></script>')
    (tmp_path / "languages").mkdir()
    (tmp_path / "languages" / "en.json").write_text('{"page": {"loading": "</script>"}}')
    assert assembled(tmp_path) == html.replace("><", r'>{"page":{"loading":"\u003c/script>"}}<')


def test_its_own_code_is_allowed_and_no_other():
    html = '<style>\na{}</style><script>\n1</script><script type="module">\n2</script>'
    policy = allowed_by("default-src 'self'", html + '<script type="application/json" id="x">{}</script>')
    assert policy == (
        "default-src 'self'; style-src 'self' 'sha256-Wos276ClB3DtmPV7ggY3FkrD5vJJA1QcT7vVWXT1dNk='; "
        "script-src 'self' 'sha256-790w0d2loaMp7p0L9hOH7n4lTsaUd+F84cQ3DSjists=' "
        "'sha256-kCSv90ewvHGK5blxNkGWfoCgvxu6azHCPqUBonYwcFo='"
    )


def test_the_page_comes_small_and_once():
    client, gzip = Client(), {"accept-encoding": "gzip"}
    whole, zipped, words = client.get("/"), client.get("/", **gzip), client.get("/languages/fa.json", **gzip)
    opened = client.ask("/api/open", {"game": "patchwork"}, headers=gzip)
    assert {answer.headers["content-encoding"] for answer in (zipped, words, opened)} == {"gzip"}
    assert len(zipped.body) < len(whole.body) / 3
    again = client.get("/", **{"if-none-match": whole.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    policy = allowed_by(HEADERS["Content-Security-Policy"], whole.body.decode())
    assert whole.headers["content-security-policy"] == policy
