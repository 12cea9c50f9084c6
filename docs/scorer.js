// Pages and their headings come before names of the reference, logs of experiments after everything else.
var Scorer = {
  score: ([page, , , , score]) => (/^(notebook|reference\/changelog)/.test(page) ? score - 4 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 0, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
