"""The words by which an answer is told from other prose, in the languages that models often answer in.

The groups hold phrases in lower case, in English, Polish, Russian, Persian, Hindi, German, French, Spanish
and Chinese. A word that is in no group, such as *would* or *opponent*, makes prose of its sentence.
"""

from __future__ import annotations

import re

MARKS = """
move, next move, answer, action, action input, choice, decision, response, conclusion
ruch, ruchem, posunięcie, odpowiedź, odpowiedzią, wybór, decyzja
ход, ходом, ответ, действие, выбор, решение
حرکت, حرکتم, پاسخ, پاسخم, جواب, جوابم, انتخاب, انتخابم, تصمیم
चाल, उत्तर, जवाब, कदम, फैसला
zug, antwort, entscheidung
coup, réponse, décision
movimiento, jugada, respuesta, decisión
走法, 答案, 我的答案, 最终答案, 我的走法
"""
"""What a marked answer is called."""

CHOOSING = """
i, we, i'll, i'm, i've, will, am, going, have, decided, on, to, play, make, choose, select, pick, take, go,
with, for, my, our, the, this, following, best, final, chosen, selected, optimal, is, it's, be, so,
therefore, thus, hence, finally, now, first, then, as follows, clearly, definitely, certainly, simply,
choosing, playing, recommended, but, yes, ok, okay, let's, let, us, here, here's
to, jest, mój, moja, moim, moją, najlepszy, najlepszym, najlepsza, ostateczny, ostateczna, ostatecznie,
końcowy, końcowa, brzmi, wybieram, gram, zagram, biorę, robię, więc, a więc, w takim razie, zatem, dlatego,
ale, tak
это, мой, моим, лучший, лучшим, наилучший, итоговый, окончательный, окончательно, я, выбираю, играю, сыграю,
хожу, беру, делаю, итак, поэтому, значит, но, да
من, نهایی, بهترین, این, است, را, رو, می کنم, میکنم, بازی, انجام, میدهم, پس, بنابراین, اما, بله
मेरा, मेरी, मैं, यह, ये, अंतिम, सबसे, अच्छा, अच्छी, सर्वश्रेष्ठ, है, को, चुनता, चुनती, खेलता, खेलती, चलता,
चलती, खेलूँगा, खेलूँगी, हूँ, हूं, तो, इसलिए, लेकिन, हाँ
mein, meine, der, die, beste, bester, endgültige, ist, lautet, ich, spiele, wähle, nehme, daher, deshalb,
aber
mon, ma, le, la, meilleur, meilleure, finale, est, je, joue, choisis, prends, donc, mais
mi, la, el, mejor, final, es, yo, juego, elijo, tomo, así que, pero
是, 我, 我选择, 选择, 所以
"""
"""What a sentence that chooses a move may say beside it."""

REASONS = """
because, since
bo, ponieważ, gdyż
потому что, так как, поскольку
چون, زیرا
क्योंकि
weil, denn
parce que, car
porque, ya que
因为
"""
"""What may follow a move and only explains it."""

CLAUSES = """
so, but, therefore, thus, hence
więc, zatem, dlatego, ale
поэтому, значит, так что, но
پس, بنابراین, اما
इसलिए, तो, लेकिन
daher, deshalb, aber
donc, mais
así que, pero
所以
"""
"""What begins the clause after a comma that draws the conclusion."""

OPENINGS = """
based on, given, considering, having, taking, weighing, looking at, in conclusion, in summary, overall, all
in all, after careful, after some, after all, after considering, after weighing, after thinking, after
evaluating, after analysing, after analyzing
biorąc, podsumowując
учитывая, подводя
با توجه, در نهایت
अंत में
nach
après
considerando, tras
"""
"""What may stand before a comma and my answer."""

RETRACTIONS = """
wait, hmm, hm, actually, oops, sorry, scratch that, hold on, on second thought, correction
czekaj, zaraz, chwila, hmm
стоп, подожди, подождите, погоди, погодите, хм, хотя
صبر, صبر کن
रुको, रुकिए
warte, moment
attends, attendez
espera, espere
等等
"""
"""What takes back the answer before it, at the beginning of a sentence."""

REFUSALS = "no, nope, nie, нет, نه, خیر, नहीं, nein, non, 不"
"""The like, unless the sentence goes on: *No, wait* takes back, *No gap is left* explains."""

ALTERNATIVES = "or, alternatively, albo, lub, или, یا, या, oder, ou, o, 或"
"""What puts another answer beside one."""

DOUBTS = """
and, then, if, unless, else, otherwise, maybe, perhaps, too, bad, wrong, illegal, impossible, rejected
potem, jeśli, jeżeli, może
и, потом, затем, если, может, возможно
و, سپس, اگر, شاید
और, फिर, अगर, यदि, शायद
und, dann, wenn, falls, vielleicht
et, puis, si, peut-être
y, luego, si, quizás
"""
"""What may not follow a marked move, beside retractions: it adds others or makes conditions."""

NEGATIONS = "not, nie, не, نه, नहीं, nicht, pas, no"  # what refuses a move that follows, or the one before

EXAMPLES = """
example, e.g, format, form, such as, like this
przykład, przykładowo, format
пример, например, формат
مثال, قالب, فرمت
उदाहरण, प्रारूप
beispiel, format
exemple, format
ejemplo, formato
例如, 格式
"""
"""What says, before a colon, that a mark stands there as an example."""

ABBREVIATIONS = ("e.g", "i.e", "vs", "cf", "np", "tj", "напр", "т.е", "z.b", "p. ex", "p. ej")
"""Behind which a period ends no sentence."""

COMBINING = r"\u0300-\u036f\u0900-\u097f"
"""A range of a regular expression: the signs, many of them Hindi, that are part of words beside letters."""


def one_of(phrases: str) -> str:
    """A regular expression for any of the phrases as whole words, the longest first."""
    found = sorted(filter(None, re.split(r"[,\n]\s*", phrases.strip())), key=len, reverse=True)
    return rf"(?:{'|'.join(map(re.escape, found))})(?!['\w{COMBINING}])"
