//! The command as a person meets it: arguments in, text or JSON out.

use clap::Parser;

use super::{
    BreakEven, CATALOGUE, Dedupe, Lookup, PlanArgs, Policy, Prices, Probability, Situation, Sweep,
    Verdict, decide, run, sweep,
};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    plan: PlanArgs,
}

fn answer(args: &str) -> Result<String, String> {
    Cli::try_parse_from(std::iter::once("plan").chain(args.split_whitespace()))
        .map(|cli| run(&cli.plan))
        .map_err(|error| error.to_string())
}

fn blind(p_m: f64, p_a: f64) -> Situation {
    let [p_m, p_a] = [p_m, p_a].map(Probability::clamped);
    Situation {
        tries: 64,
        ..Situation::new(Dedupe::None, Lookup::None, p_m, p_a)
    }
}

#[test]
fn no_line_is_wider_than_a_terminal() {
    let providers = CATALOGUE.map(|entry| format!("--show all --provider {}", entry.name));
    let others = [
        "--show all --request-loss 50% --answer-loss 50% --lost 1e12 --doubled 1e12 --over answer-loss",
        "--show all --request-loss 1 --answer-loss 1 --crash 1 --over crash",
        "--show all --request-loss 0 --answer-loss 0 --lost 0 --doubled 0 --minute 0",
        "--show all --messages 100000 --over request-loss --rate 4000000000 --window 30000d",
    ];
    for args in providers.iter().map(String::as_str).chain(others) {
        let text = answer(args);
        assert!(text.is_ok(), "{args}: {text:?}");
        for line in text.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= 80, "{args}: {line}");
        }
    }
}

#[test]
fn the_command_line_itself_is_consistent() {
    use clap::CommandFactory;
    Cli::command().debug_assert();
}

#[test]
fn json_holds_every_part_whatever_is_shown() {
    let text = answer("--json --show memory --request-loss 1").unwrap_or_default();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    for part in [
        "/assumptions/0",
        "/decision/at_most_once/counts/parked/sd",
        "/decision/at_least_once/cost/total",
        "/decision/verdict",
        "/comparison/3/decision",
        "/sweeps/3/points/0/at_least_once",
        "/formulas/with_limit/sends",
        "/published_run/at_least_once/duplicates",
        "/memory/windows/3/bytes",
    ] {
        assert!(
            json.pointer(part).is_some_and(|value| !value.is_null()),
            "{part}"
        );
    }
    assert!(
        json["formulas"]["without_limit"]["sends"].is_null(),
        "infinite"
    );
}

#[test]
fn a_provider_s_promise_can_be_overridden_one_by_one() {
    let text = answer("--provider postmark --look-up none").unwrap_or_default();
    assert!(
        text.contains("postmark: forgets keys at once, has no log to ask"),
        "{text}"
    );
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    for (args, reason) in [
        ("--request-loss 110%", "not a probability"),
        ("--lost -1", "unexpected argument"),
        ("--lost=-1", "not a number from 0"),
        ("--lost NaN", "not a number from 0"),
        ("--provider nobody", "postmark"),
        ("--dedupe forever", "replay:24h"),
        ("--look-up by-reference:1h,5m", "never mean anything"),
        ("--tries 0", "1..=64"),
        ("--age redrive", "NAME=TIME"),
    ] {
        let error = answer(args).err().unwrap_or_default();
        assert!(error.contains(reason), "{args}: {error}");
    }
}

/// The price of a lost message at which the answer turns, and the same in doubled ones.
fn turn(situation: &Situation, prices: &Prices) -> Option<(f64, f64)> {
    match decide(situation, prices).break_even {
        BreakEven::At { lost_price, ratio } => Some((lost_price, ratio?)),
        BreakEven::Always { .. } | BreakEven::NoDifference => None,
    }
}

#[test]
fn with_time_free_the_break_even_is_the_closed_form() {
    let prices = Prices {
        lost: 1.0,
        doubled: 2.0,
        parked_minutes: 5.0,
        minute: 0.0,
    };
    let formula = 0.05 / (0.95 * 0.02);
    let found = turn(&blind(0.02, 0.05), &prices);
    assert!(
        found.is_some_and(|(_, ratio)| (ratio - formula).abs() < 1e-9),
        "{found:?}"
    );
}

#[test]
fn the_verdict_turns_at_the_break_even_price() {
    let prices = Prices {
        lost: 1.0,
        doubled: 10.0,
        parked_minutes: 1.0,
        minute: 0.1,
    };
    let situation = blind(0.02, 0.05);
    let price = turn(&situation, &prices).map_or(f64::NAN, |(price, _)| price);
    for (factor, cheaper) in [(0.99, Policy::AtMostOnce), (1.01, Policy::AtLeastOnce)] {
        let verdict = decide(
            &situation,
            &Prices {
                lost: price * factor,
                ..prices
            },
        )
        .verdict;
        assert!(
            matches!(verdict, Verdict::Cheaper { policy, .. } if policy == cheaper),
            "{verdict:?} at {price}"
        );
    }
}

#[test]
fn dear_people_make_at_least_once_cheaper_at_any_price_of_a_lost_message() {
    let prices = Prices {
        lost: 0.0,
        doubled: 1.0,
        parked_minutes: 5.0,
        minute: 1.0,
    };
    let decision = decide(&blind(0.02, 0.05), &prices);
    assert_eq!(
        decision.break_even,
        BreakEven::Always {
            policy: Policy::AtLeastOnce
        }
    );
}

#[test]
fn every_sweep_rises_and_marks_the_given_value_once() {
    let prices = Prices {
        lost: 3.0,
        doubled: 1.0,
        parked_minutes: 1.0,
        minute: 1.0,
    };
    let situation = Situation {
        crash: Probability::clamped(0.001),
        ..blind(0.4, 0.3)
    };
    for over in Sweep::ALL {
        let points = sweep(over, &situation, &prices);
        assert!(points.is_sorted_by(|a, b| a.value < b.value), "{over:?}");
        assert_eq!(
            points.iter().filter(|point| point.given).count(),
            1,
            "{over:?}"
        );
        assert!(
            points.is_sorted_by(|a, b| a.at_most_once <= b.at_most_once),
            "{over:?}"
        );
    }
}
