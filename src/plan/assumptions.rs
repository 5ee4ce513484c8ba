//! What the numbers take for granted, in the words in which it is printed.

/// One sentence or two each. Printed with every decision, and part of its JSON.
pub const ASSUMPTIONS: [&str; 8] = [
    "Losses are independent and rates constant. An outage longer than the provider's window or \
     its log's retention is worse than this; so is one that takes the workers with it.",
    "Only doubtful failures count. What certainly sent nothing (refused connect, a 429 documented \
     as not processed) is retried under both policies, costs nothing here, and is not in the rates.",
    "In doubt, both policies first replay under the same key while the provider remembers it, then \
     ask its log once that has settled, and send again when an exact log proves absence. Log and \
     window keep what they promise; a log that does not is --late-log.",
    "What is still unknown then, at-most-once parks and at-least-once sends again under a new key, \
     counted as a possible duplicate. Both park when a fuzzy log shows several matches, and when \
     the attempts are used up.",
    "A person closes a parked message without sending it again: its minutes are paid, and if it \
     was lost it stays lost and is paid for too. If your people rescue some, at-most-once is \
     cheaper than shown.",
    "A worker's death in flight leaves a doubt like any other: a lost request if it died before \
     sending, a lost answer if after (--crash-after-send).",
    "Receipts are left out. They can only turn doubt into \"sent\": fewer parked, fewer doubled.",
    "Nothing expires while in doubt. A message that does is closed as unconfirmed, not sent again.",
];
