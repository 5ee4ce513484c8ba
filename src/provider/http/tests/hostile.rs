//! Bodies that nobody promised: whatever comes back gives an outcome, never a panic, and never
//! acceptance without proof.

use super::*;
use crate::domain::outcome::{LookUpAnswer, Outcome};

const PROVIDER: &str = r#"
[providers.p.send]
url = "https://p.example/"
json = { to = "{{ to }}", ref = "{{ send_key }}" }
answers = [
  { json = { "$.status" = "accepted" }, id = "$..id", means = "accepted" },
  { text = '^OK: (?P<id>[a-z0-9]{4,})$', means = "accepted" },
  { status = [400, 409], json = { "$.error" = "dup" }, means = "already" },
  { status = 400, text_of = "$.message", means = "refused" },
]
[providers.p.lookup]
by = "reference"
url = "https://p.example/{{ send_key }}"
records = "$.records"
reference = "$..ref"
id = "$.id"
settle = "5m"
retention = "30d"
"#;

fn accepted(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Accepted { .. })
}

#[test]
fn odd_bodies_give_an_outcome() {
    let adapter = adapter(PROVIDER);
    let deep = "[".repeat(60_000);
    let wide = format!("{{\"a\":[{}1]}}", "1,".repeat(30_000));
    let long = format!("{{\"status\":\"{}\"}}", "a".repeat(60_000));
    let bodies: [&[u8]; 14] = [
        b"",
        b"\0",
        b"\xff\xfe\xfd",
        b"\xef\xbb\xbf{}",
        b"{\"status\":",
        b"{\"status\":\"accepted\"}",
        b"\"accepted\"",
        b"1e999",
        b"{\"status\":\"accepted\",\"id\":\"\xff\"}",
        b"{\"id\":\"x\"}",
        b"{\"message\":\"\\ud83d\"}",
        deep.as_bytes(),
        wide.as_bytes(),
        long.as_bytes(),
    ];
    for body in bodies {
        for status in [
            0,
            99,
            100,
            200,
            204,
            304,
            400,
            404,
            409,
            429,
            500,
            600,
            u16::MAX,
        ] {
            let answer = Answer {
                status,
                headers: HeaderMap::new(),
                body: Bytes::copy_from_slice(body),
            };
            assert!(!accepted(&adapter.outcome(&answer)));
            let looked = adapter.found(&question(&content("x")), &answer);
            assert!(
                matches!(looked, LookUpAnswer::Failed { .. }),
                "{status} {looked:?}"
            );
        }
    }
}

#[test]
fn what_is_kept_of_a_hostile_answer_is_clean_and_short() {
    let adapter = adapter(PROVIDER);
    let id = format!("\\u0000\\u001b]0;pwned\\u0007\\u202e{}", "x".repeat(5000));
    let outcome = adapter.outcome(&answer(
        200,
        &[],
        &format!(r#"{{"status":"accepted","id":"{id}"}}"#),
    ));
    let Outcome::Accepted {
        provider_id: Some(kept),
        ..
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    assert!(
        kept.chars().count() <= 200
            && !kept.chars().any(char::is_control)
            && !kept.contains('\u{202e}')
    );

    let outcome = adapter.outcome(&answer(400, &[], &format!(r#"{{"message":"{id}"}}"#)));
    let Outcome::Refused { text, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert!(
        text.chars().count() <= 320 && !text.chars().any(char::is_control),
        "{text:?}"
    );
}

/// xorshift64: the same bytes in every run.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn random_bytes_and_broken_answers_never_count_as_accepted() {
    let adapter = adapter(PROVIDER);
    let good = br#"{"status":"accepted","id":"m-1","records":[{"id":"a","ref":"x"}]}"#;
    let mut state = 34;
    for round in 0..20_000 {
        let body: Vec<u8> = if round % 2 == 0 {
            (0..random(&mut state) % 64)
                .map(|_| random(&mut state).to_le_bytes()[0])
                .collect()
        } else {
            // one byte of the right answer changed, or its end cut off
            let mut body = good.to_vec();
            let place = usize::try_from(random(&mut state) % 60).expect("small");
            body[place] ^= 1 << (random(&mut state) % 7);
            body.truncate(place + usize::try_from(random(&mut state) % 8).expect("small"));
            body
        };
        let status = 100 + u16::try_from(random(&mut state) % 500).expect("small");
        let answer = Answer {
            status,
            headers: HeaderMap::new(),
            body: body.into(),
        };
        assert!(!accepted(&adapter.outcome(&answer)), "{answer:?}");
        let looked = adapter.found(&question(&content("x")), &answer);
        assert!(!matches!(looked, LookUpAnswer::Found(_)), "{answer:?}");
    }
}
