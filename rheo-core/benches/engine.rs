//! The engine's operations one by one, for looking at a change with criterion: `cargo bench -p rheo-core --bench
//! engine`. What the issues ask for as ratios is in `ratios.rs`.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rheo_core::{
    Append, AppendOptions, FetchOptions, GroupOptions, Instance, OpenOptions, Operator, Query, ReadOptions,
    ReplayOptions, StreamOptions,
};
use std::hint::black_box;

const EVENTS: u64 = 100_000;
const PAYLOAD: &[u8] = br#"{"id":123456,"customer":"customer-000042","total":1234.5,"currency":"EUR","items":[1,2,3],"note":"a few words"}"#;

/// A stream `orders` of so many partitions with `EVENTS` events and a group `billing`.
fn filled(partitions: u32) -> Instance {
    let db = rheo_core::open("memory:", OpenOptions::new()).expect("memory opens");
    db.create_stream("orders", StreamOptions::partitions(partitions)).expect("created");
    db.create_group("orders", "billing", &GroupOptions::default()).expect("created");
    let keys: Vec<String> = (0..1000).map(|key| format!("key-{key}")).collect();
    let items: Vec<Append<'_>> = keys.iter().map(|key| Append::json(PAYLOAD).key(key).event_type("placed")).collect();
    for _ in 0..EVENTS / 1000 {
        db.append_batch("orders", &items, &AppendOptions::default()).expect("appended");
    }
    db
}

fn rewind(db: &Instance) {
    let all = ReplayOptions { from_sequence: Some(0.into()), ..Default::default() };
    db.replay("orders", "billing", &all).expect("replayed");
}

fn log(c: &mut Criterion) {
    let db = filled(4);
    let mut group = c.benchmark_group("log");
    group.throughput(Throughput::Elements(1));
    let mut id = 0_u64;
    group.bench_function("append_with_id", |b| {
        b.iter(|| {
            id += 1;
            db.append("orders", &Append::json(PAYLOAD).id(&id.to_string())).expect("appended")
        });
    });
    group.bench_function("append_deduplicated", |b| {
        b.iter(|| db.append("orders", &Append::json(PAYLOAD).id("1")).expect("appended"));
    });
    group.bench_function("append_with_key_type_metadata", |b| {
        let item = Append::json(PAYLOAD).key("customer-7").event_type("placed").metadata(r#"{"producer":"till"}"#);
        b.iter(|| db.append("orders", black_box(&item)).expect("appended"));
    });
    let id = db.read("orders", ReadOptions { after: 1000, limit: 1, partition: 0 }).expect("read")[0].id().to_string();
    group.bench_function("get_generated_id", |b| b.iter(|| db.get("orders", black_box(&id)).expect("found")));
    group.finish();

    let db = filled(4);
    let mut group = c.benchmark_group("scan");
    group.throughput(Throughput::Elements(EVENTS));
    group.bench_function("query_by_type", |b| {
        let query = Query::new().filter("type", Operator::Eq, "other");
        b.iter(|| db.query("orders", &query).expect("queried"));
    });
    group.bench_function("query_by_payload_field", |b| {
        let query = Query::new().filter("total", Operator::Gt, 5000);
        b.iter(|| db.query("orders", &query).expect("queried"));
    });
    group.finish();
}

fn delivery(c: &mut Criterion) {
    for partitions in [1, 4] {
        let db = filled(partitions);
        let billing = db.group("orders", "billing").expect("good names");
        let mut group = c.benchmark_group(format!("delivery_{partitions}_partitions"));
        let mut leases = Vec::new();
        for limit in [1, 100] {
            group.throughput(Throughput::Elements(limit));
            group.bench_function(format!("fetch_{limit}_ack"), |b| {
                b.iter(|| {
                    billing.fetch_into(&FetchOptions::new().limit(limit as usize), &mut leases).expect("fetched");
                    if leases.is_empty() {
                        rewind(&db);
                    }
                    billing.ack_many(&leases).expect("acked")
                });
            });
        }
        group.throughput(Throughput::Elements(1));
        group.bench_function("lag", |b| b.iter(|| billing.lag(None).expect("known")));
        group.bench_function("group_info", |b| b.iter(|| billing.info(None).expect("known")));
        group.finish();
    }
}

criterion_group!(benches, log, delivery);
criterion_main!(benches);
