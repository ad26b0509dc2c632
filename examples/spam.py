"""A spam filter: words, a sender and links in one naive Bayes, decided by what mistakes cost.

Binning a good mail costs ten times as much as letting a spam through; putting a mail into a folder "doubtful", where
somebody looks at it, costs a little each time. The messages are invented.
"""

from __future__ import annotations

import numpy as np

import posteriori as po

# (message, do we know the sender, links in it)
HAM = [
    ("can we move the meeting to three o'clock tomorrow", True, 0),
    ("the minutes of the last meeting are attached", True, 0),
    ("lunch on friday at the usual place", True, 0),
    ("please review the draft of chapter two before monday", True, 1),
    ("your parcel will be delivered tomorrow before noon", False, 1),
    ("the train was late, start without me", True, 0),
    ("photos of the garden from last weekend", True, 1),
    ("your library books are due on monday", False, 0),
    ("the build is green again, thanks for the quick fix", True, 1),
    ("grandmother asks if you will come on sunday", True, 0),
    ("agenda for the budget meeting on thursday", True, 0),
    ("i lost my phone, please call the office", True, 0),
    ("your order has been sent, thank you", False, 1),
    ("could you send me the slides of your talk", False, 0),
    ("the school closes early on friday", False, 0),
    ("happy birthday and a good year", True, 0),
    ("the invoice for march is attached, payable within thirty days", False, 0),
    ("dinner at eight, bring the children", True, 0),
    ("the plumber can come on tuesday morning", True, 0),
    ("please confirm your appointment with the dentist on monday", False, 1),
    ("notes from the phone call with the bank", True, 0),
    ("are you free for a walk after work", True, 0),
]
SPAM = [
    ("you have won a prize, claim your money now", False, 2),
    ("cheap pills, no prescription, order now", False, 3),
    ("congratulations winner, claim your free phone today", False, 2),
    ("earn money from home, no experience, start today", False, 2),
    ("your account is suspended, confirm your password now", False, 1),
    ("urgent transfer of ten million, send your bank details", False, 0),
    ("lose weight fast with this one free trick", False, 3),
    ("hot offer, only today, everything half price", False, 4),
    ("cheap loans without questions, money today", False, 2),
    ("you were selected for a free holiday, click here", False, 2),
    ("meet singles near you tonight, click here", False, 3),
    ("free trial, cancel any time, click now", False, 3),
    ("claim your refund, confirm your bank details here", False, 1),
    ("winner winner, your free gift card is waiting", False, 2),
    ("double your money in a week, no risk", False, 2),
    ("last chance, cheap watches, order today", False, 4),
    ("your computer is infected, click here now", False, 1),
    ("free money, no questions, claim now", True, 2),
]
NEW = [
    ("agenda and slides for the meeting on monday", True, 1, "ham"),
    ("claim your free prize now, click here", False, 3, "spam"),
    ("please confirm the order of the new phone", True, 0, "ham"),
    ("the bank asks you to confirm your details here", False, 1, "spam"),
    ("free lunch for everybody in the office on friday", False, 0, "ham"),
    ("cheap money today, order now, no risk", False, 2, "spam"),
    ("send me the details of the holiday, i am free in march", True, 0, "ham"),
    ("your parcel is waiting, confirm your account", False, 1, "spam"),
    ("urgent: the meeting starts now", True, 0, "ham"),
    ("you have won our garden prize, claim it on monday", False, 1, "ham"),
    ("cheap tickets for our school theatre on sunday, order today", False, 1, "ham"),
]


def table(messages: list[tuple[str, bool, int]]) -> dict[str, list[object]]:
    """Messages as columns."""
    text, known, links = zip(*messages)
    return {"text": list(text), "known_sender": list(known), "links": list(links)}


X, y = table(HAM + SPAM), ["ham"] * len(HAM) + ["spam"] * len(SPAM)
X_new, y_new = table([m[:3] for m in NEW]), np.array([m[3] for m in NEW])

model = po.NaiveBayes(kinds={"text": "text", "links": "count"}, density={"links": "poisson"}).fit(X, y)

words = model.tables_["text"]
odds = np.log(words["spam"] / words["ham"]).sort_values()
print("words that speak for ham: ", ", ".join(odds.index[:6]))
print("words that speak for spam:", ", ".join(odds.index[:-7:-1]))

loss = po.Loss.from_table(
    {
        "ham": {"ham": 0, "spam": 1},
        "spam": {"ham": 10, "spam": 0},
        "reject": {"ham": 0.3, "spam": 0.3},
    }
)
print(f"\nwhat each decision costs:\n{loss}\n")

posterior = model.predict_proba(X_new)
careful = po.decide(posterior, loss, classes=model.classes_)
for (text, *_, truth), p, said in zip(NEW, posterior[:, 1], careful):
    print(f"  P(spam) = {p:5.3f}  →  {said.replace('reject', 'doubtful'):9} (truth {truth:4})  {text}")

by_argmax = po.decide(posterior, classes=model.classes_)
for name, decision in (("most probable class", by_argmax), ("least risk", careful)):
    print(f"{name}: mean loss {po.mean_loss(y_new, decision, loss):.2f}")

print("\nwhy the garden prize is in doubt:")
print(model.explain({name: column[-2:-1] for name, column in X_new.items()}))

# A correction is one more row; a mistake in the training data is taken out again, exactly.
model.partial_fit({name: column[-2:-1] for name, column in X_new.items()}, ["ham"])
print(f"\nafter learning it as ham: P(spam) = {model.predict_proba(X_new)[-2, 1]:.3f}")
model.forget({name: column[-2:-1] for name, column in X_new.items()}, ["ham"])
print(f"after forgetting it:      P(spam) = {model.predict_proba(X_new)[-2, 1]:.3f}")
