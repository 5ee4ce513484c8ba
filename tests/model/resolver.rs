//! A resolver's steps: takes over, asks, decides, writes. As `src/resolver.rs` does.

use nuncio::domain::change::Change;
use nuncio::domain::outcome::{Doubt, LookUpAnswer, NotSent};
use nuncio::domain::phase::Phase;
use nuncio::domain::resolve::{Case, Evidence, Verdict};

use crate::decisions::resolve as decide;
use crate::process::Resolver;
use crate::provider::{Flight, Learnt, Provider};
use crate::row::Taken;
use crate::setting::{Log, Mutation, Promise, RESOLVE_WITHIN, Setting, TIMEOUT, ticks};
use crate::state::State;
use crate::steps::{Steps, What, due};

const WHO: &str = "resolver";

pub fn steps(steps: &mut Steps<'_>) {
    for (index, resolver) in steps.state.resolvers.iter().enumerate() {
        // Two in the same state have the same steps.
        if index > 0 && steps.state.resolvers[index - 1] == *resolver {
            continue;
        }
        match *resolver {
            Resolver::Idle => idle(steps, index),
            Resolver::Asking {
                taken,
                announced,
                replayed,
            } => asking(steps, index, taken, announced, replayed),
            Resolver::Replaying(taken, flight) => replaying(steps, index, taken, flight),
            Resolver::Writing { attempt, change } => writing(steps, index, attempt, change),
        }
        if *resolver != Resolver::Idle {
            let mut next = becoming(steps, index, Resolver::Idle);
            if let Resolver::Replaying(_, flight) = resolver {
                next.provider.abandon(steps.setting, *flight);
            }
            steps.add(WHO, "is killed", 1, next);
        }
    }
}

fn becoming(steps: &Steps<'_>, index: usize, resolver: Resolver) -> State {
    let mut next = steps.now();
    next.resolvers[index] = resolver;
    next
}

fn idle(steps: &mut Steps<'_>, index: usize) {
    if !due(steps.state, Phase::Sending) {
        return;
    }
    let mut next = steps.now();
    let Some(row) = &mut next.row else { return };
    if row.doubt.is_none() && steps.setting.mutated(Mutation::OnlyKnownDoubtIsTakenOver) {
        return;
    }
    let taken = row.take_over(steps.setting);
    next.resolvers[index] = Resolver::Asking {
        taken,
        announced: steps.setting.mutated(Mutation::ReplayIsNotAnnounced),
        replayed: None,
    };
    steps.add(WHO, "takes the row over", 0, next);
}

/// Asks what the decision wants asked, and goes on to the next step of it.
fn asking(
    steps: &mut Steps<'_>,
    index: usize,
    taken: Taken,
    announced: bool,
    replayed: Option<Learnt>,
) {
    let setting = steps.setting;
    let mut case = case(setting, steps.state, &taken);
    if let Some(learnt) = replayed {
        if let Learnt::Unknown(cause) = learnt {
            case.cause = cause;
        }
        case.evidence = Evidence::Replay(learnt.outcome());
    }
    match decide(setting, &case) {
        Verdict::Replay if !announced => {
            let mut next = steps.now();
            let stands = next
                .row
                .as_mut()
                .is_some_and(|row| row.announce(taken.attempt));
            next.resolvers[index] = if stands {
                Resolver::Asking {
                    taken,
                    announced: true,
                    replayed,
                }
            } else {
                Resolver::Idle
            };
            steps.add(WHO, "announces a replay", 0, next);
        }
        Verdict::Replay if taken.left < TIMEOUT => {
            let late = Some(Learnt::NotSent(NotSent::LeaseTooShort));
            let next = Resolver::Asking {
                taken,
                announced,
                replayed: late,
            };
            let next = becoming(steps, index, next);
            steps.add(WHO, "came back too late to replay", 0, next);
        }
        Verdict::Replay => {
            let mut at = taken.provider;
            at += u8::from(setting.mutated(Mutation::ReplayAtAnotherProvider));
            let bytes = rendered(setting, steps.state, &taken);
            let flight = Provider::flight(setting, at, taken.generation, bytes);
            let mut next = becoming(steps, index, Resolver::Replaying(taken, flight));
            next.request_goes_out(taken.attempt, TIMEOUT);
            steps.add(WHO, "replays", 0, next);
        }
        Verdict::LookUp => look_up(steps, index, &taken, &case, replayed.is_some()),
        verdict @ (Verdict::Sent { .. }
        | Verdict::Failed
        | Verdict::Expired
        | Verdict::Requeue { .. }
        | Verdict::SendAgain { .. }
        | Verdict::Wait { .. }
        | Verdict::Park
        | Verdict::Unconfirmed) => {
            let change = Change::resolved(&verdict, case.cause, replayed.is_some());
            let next = decided(steps, index, &taken, change);
            steps.add(WHO, What::Decided("asks no more", change), 0, next);
        }
    }
}

fn look_up(steps: &mut Steps<'_>, index: usize, taken: &Taken, case: &Case, requested: bool) {
    let setting = steps.setting;
    let truth = steps
        .state
        .provider
        .shown(setting, taken.provider, taken.generation);
    let mut answers = vec![(truth, 0)];
    if !setting.sure {
        let failed = LookUpAnswer::Failed {
            retry_after: None,
            text: String::new(),
        };
        answers.push((failed, 1));
    }
    if setting.log == Log::ByRecipient {
        // The log writes the recipient another way: no proof of absence, ever.
        answers.push((LookUpAnswer::Absent, 1));
    }
    if !setting.keeps(Promise::RecordIsOurs) {
        answers.push((LookUpAnswer::Found(vec!["foreign".into()]), 1));
    }
    for (answer, faults) in answers {
        let several = matches!(&answer, LookUpAnswer::Found(ids) if ids.len() > 1);
        let words = match answer {
            LookUpAnswer::Found(_) => "finds it in the log",
            LookUpAnswer::Absent => "does not find it in the log",
            LookUpAnswer::Failed { .. } => "gets no answer from the log",
        };
        let case = Case {
            evidence: Evidence::LookUp(answer),
            ..case.clone()
        };
        let change = Change::resolved(&decide(setting, &case), case.cause, requested);
        let mut next = decided(steps, index, taken, change);
        next.provider.several |= setting.log == Log::ByRecipient && several;
        steps.add(WHO, What::Decided(words, change), faults, next);
    }
}

fn decided(steps: &Steps<'_>, index: usize, taken: &Taken, change: Change) -> State {
    let attempt = taken.attempt;
    becoming(steps, index, Resolver::Writing { attempt, change })
}

fn replaying(steps: &mut Steps<'_>, index: usize, taken: Taken, flight: Flight) {
    let provider = steps.state.provider.clone();
    let learns = |learnt| Resolver::Asking {
        taken,
        announced: true,
        replayed: Some(learnt),
    };
    for (after, learnt, faults) in provider.reactions(steps.setting, flight) {
        let mut next = becoming(steps, index, learns(learnt));
        next.provider = after.clone();
        steps.add(WHO, What::Heard("gets its answer", learnt), faults, next);
        if after != provider {
            let lost = learns(Learnt::Unknown(Doubt::ConnectionLost));
            let mut next = becoming(steps, index, lost);
            next.provider = after;
            let what = What::Heard("loses its answer", learnt);
            steps.add(WHO, what, faults + 1, next);
        }
    }
    let mut next = becoming(steps, index, learns(Learnt::Unknown(Doubt::Timeout)));
    next.provider.abandon(steps.setting, flight);
    steps.add(WHO, "gives up waiting", 1, next);
}

fn writing(steps: &mut Steps<'_>, index: usize, attempt: u8, change: Change) {
    let mut next = becoming(steps, index, Resolver::Idle);
    let what = if next.write(steps.setting, attempt, Phase::Sending, &change) {
        What::Wrote(change.to)
    } else {
        What::Plain("writes nothing: somebody else decided")
    };
    steps.add(WHO, what, 0, next);
}

/// The bytes of the request as the row's provider would get it now.
fn rendered(setting: &Setting, state: &State, taken: &Taken) -> u8 {
    if setting.may_move {
        taken.provider
    } else {
        state.bytes
    }
}

/// The case as the resolver builds it.
fn case(setting: &Setting, state: &State, taken: &Taken) -> Case {
    Case {
        policy: setting.policy,
        capability: setting.capability(),
        evidence: Evidence::None,
        cause: taken.cause,
        key_age: ticks(taken.key_age),
        since_read: ticks(taken.since),
        last_request_age: ticks(taken.last_request_age),
        doubt_age: ticks(taken.doubt_age),
        expired: state.expired,
        request_unchanged: taken.request == Some(rendered(setting, state, taken)),
        older_key_in_doubt: taken.older_key_in_doubt,
        sends_left: taken.sends < setting.max_sends,
        empty_reads: taken.empty_reads.into(),
        checks: 0,
        request_timeout: ticks(TIMEOUT),
        resolve_within: ticks(RESOLVE_WITHIN),
    }
}
