//! A bounded run of the fuzz targets: the corpus as it is, then seeded changes of it. The same
//! inputs in every run. `docs/proof.md` says how to run them without a bound.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::properties;

/// Changed inputs for each target: a few seconds on one core, in a debug build.
const INPUTS: usize = 20_000;

const SEED: u64 = 34;

#[test]
fn any_bytes_from_the_queue_are_read_in_order_or_rejected_without_a_word_of_them() {
    let came_out = run("decode", &DECODE_WORDS, |input| {
        vec![properties::decode::hold(input)]
    });
    // All but too_large: an input of this size would be most of the corpus.
    let all = [
        "read",
        "not_json",
        "wrong_shape",
        "unknown_version",
        "unknown_channel",
        "missing_key",
        "nul_character",
        "bad_recipient",
        "bad_stream",
        "bad_content",
    ];
    each_was_reached(&came_out, &all);
}

#[test]
fn any_answer_of_a_provider_gives_an_outcome_and_never_acceptance_without_proof() {
    let came_out = run("answer", &ANSWER_WORDS, |input| {
        properties::answer::hold(input).to_vec()
    });
    let all = [
        "accepted",
        "already",
        "refused",
        "throttled",
        "not_processed",
        "account_refused",
        "server_error",
        "unintelligible",
        "in_progress",
        "key_mismatch",
        "replayed_failure",
        "log: found",
        "log: absent",
        "log: failed",
    ];
    each_was_reached(&came_out, &all);
}

/// A property that nothing reaches holds for free.
fn each_was_reached(came_out: &BTreeMap<&'static str, usize>, all: &[&str]) {
    for name in all {
        let times = came_out.get(name).copied().unwrap_or_default();
        assert!(
            times >= 10,
            "{name} came out {times} times only: {came_out:?}"
        );
    }
}

/// What came out, and how often.
fn run(
    target: &str,
    words: &[&str],
    hold: fn(&[u8]) -> Vec<&'static str>,
) -> BTreeMap<&'static str, usize> {
    let corpus = corpus(target);
    let mut came_out = BTreeMap::new();
    let mut try_it = |name: &str, input: &[u8]| {
        // A message that names the input in a form that can be saved to a file and tried again.
        let held = std::panic::catch_unwind(|| hold(input))
            .unwrap_or_else(|_| panic!("{name}: b\"{}\"", input.escape_ascii()));
        for kind in held {
            *came_out.entry(kind).or_insert(0) += 1;
        }
    };
    for (name, input) in &corpus {
        try_it(name, input);
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    for number in 0..INPUTS {
        let (name, seed) = &corpus[random.usize(..corpus.len())];
        let mut input = seed.clone();
        for _ in 0..if random.bool() {
            1
        } else {
            random.usize(1..=3)
        } {
            change(&mut input, &corpus, words, &mut random);
        }
        try_it(&format!("change {number} of {name}"), &input);
    }
    println!(
        "{target}: {} inputs of the corpus and {INPUTS} changes of them: {came_out:?}",
        corpus.len()
    );
    came_out
}

/// In the order of their names, so that a seed means the same everywhere.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target);
    let files = std::fs::read_dir(&folder).expect("the corpus is there");
    let mut corpus: Vec<_> = files
        .map(|file| {
            let file = file.expect("the corpus can be read");
            let input = std::fs::read(file.path()).expect("the corpus can be read");
            (file.file_name().to_string_lossy().into_owned(), input)
        })
        .collect();
    corpus.sort();
    assert!(corpus.len() >= 30, "the corpus of {target} is not whole");
    corpus
}

/// One change of the kinds that parsers trip over.
fn change(
    input: &mut Vec<u8>,
    corpus: &[(String, Vec<u8>)],
    words: &[&str],
    random: &mut fastrand::Rng,
) {
    let at = random.usize(..=input.len());
    let end = random.usize(at..=input.len().min(at + 24));
    let word = words[random.usize(..words.len())];
    match random.u8(..16) {
        0 | 1 if at < input.len() => input[at] ^= 1 << random.u8(..8),
        2 if at < input.len() => input[at] = random.u8(..),
        3 => input.truncate(at),
        4 => drop(input.drain(at..end)),
        5 => {
            let again = input[at..end].to_vec();
            input.splice(at..at, again);
        }
        6 => {
            let (_, other) = &corpus[random.usize(..corpus.len())];
            let from = random.usize(..=other.len());
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        7 => drop(input.splice(at..end, word.bytes())),
        // where a word can stand without breaking what is around it: at the beginning of an
        // object, of a string, or in the place of a number
        8..11 => put(input, b'{', word, random),
        11..14 => put(input, b'"', word, random),
        _ => {
            let digit = |i: &usize| input.get(*i).is_some_and(u8::is_ascii_digit);
            if let Some(from) = (at..input.len()).find(digit) {
                let to = (from..input.len())
                    .find(|i| !digit(i))
                    .unwrap_or(input.len());
                let number = NUMBERS[random.usize(..NUMBERS.len())];
                input.splice(from..to, number.bytes());
            }
        }
    }
}

/// Puts a word behind one of the places where this byte is.
fn put(input: &mut Vec<u8>, behind: u8, word: &str, random: &mut fastrand::Rng) {
    let places: Vec<usize> = (0..input.len()).filter(|&i| input[i] == behind).collect();
    if let Some(&place) = random.choice(&places) {
        input.splice(place + 1..=place, word.bytes());
    }
}

/// What a change may put in.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "4",
    "7",
    "10",
    "200",
    "202",
    "400",
    "409",
    "422",
    "429",
    "500",
    "503",
    "99999999999",
];

const DECODE_WORDS: [&str; 20] = [
    "\\u0000",
    "\0",
    "\\ud83d",
    "\u{2028}",
    "\\r\\n",
    "\u{1b}[31m",
    "\"",
    "+44",
    "null",
    "1e999",
    "9999-12-31T23:59:59Z",
    "\"send_at\":\"-262143-01-01T00:00:00Z\",",
    "\"expires_at\":\"+262142-12-31T23:59:60.999999999Z\",",
    "\"key\":\"k\",",
    "\"to\":\"+15550001234\",",
    "\"metadata\":{\"a\":\"b\"},",
    "\"version\":2,",
    "\"stream\":\"s\",\"seq\":-9223372036854775808,",
    "\"subject\":\"x\",",
    "|",
];

const ANSWER_WORDS: [&str; 20] = [
    "\\u0000",
    "\0",
    "\u{202e}",
    "\u{1b}[31m",
    "\"",
    "null",
    "0",
    "accepted",
    "\"id\":\"m\",",
    "\"status\":\"0\",",
    "\"messages\":[{\"status\":\"0\"}],",
    "\"records\":[],",
    "\"items\":[],",
    "\"code\":\"key_mismatch\",",
    "\"direction\":\"outbound\",",
    "OK: 1",
    "Retry-After: 99999999999\n",
    "Idempotent-Replayed: true\n",
    "+4915112345678",
    "Your code is 1234",
];
