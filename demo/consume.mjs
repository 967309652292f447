// The Node program of the demo: consumes the week's earthquakes with a group of its own, on the same journal, and writes a page that
// shows them.
//
//     node demo/consume.mjs JOURNAL PAGE.html
//
// It may be killed and run again: what it makes of an event it looks up in the stream, so nothing is counted twice.

import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ACK, open, reject } from '../bindings/node/dist/index.mjs'

const [journal, page] = process.argv.slice(2)
if (!page) {
  console.error('usage: node demo/consume.mjs JOURNAL PAGE.html')
  process.exit(2)
}
const ALL = 1707

const db = await open(`journal:${journal}`)
try {
  await db.createGroup('earthquakes', 'map').catch((error) => {
    if (error.code !== 'ERR_RHEO_ALREADY_EXISTS') throw error
  })
  const [stream, group] = [db.stream('earthquakes'), db.group('earthquakes', 'map')]

  // A hundred at a time; when 200 ms bring nothing, the week is over.
  let settled = 0
  const consumer = group.consumer((events) => {
    settled += events.length
    return events.map(({ payload }) => (typeof payload.latitude === 'number' ? ACK : reject('no place')))
  }, { batchSize: 100 })
  for (let before = -1; before !== settled; await sleep(200)) before = settled
  await consumer.close()

  const events = []
  for await (const { payload, type, partition, sequence, id } of stream.queryStream({ limit: 500 })) {
    events.push({ id, type, partition, sequence, ...payload })
  }
  const groups = await Promise.all((await stream.listGroups()).map(async (name) => ({ name, ...(await db.groupInfo('earthquakes', name)) })))
  writeFileSync(page, html(events, groups, await stream.info()))

  const { lag } = await group.lag()
  console.log(`\nNode, on the same journal: the group map settled ${settled} events, its lag is ${lag}; the page shows ${events.length} events, ${groups.length} groups.`)
  if (lag !== 0 || events.length !== ALL) {
    console.error(`It should have come to lag 0 and ${ALL} events.`)
    process.exitCode = 1
  }
} finally {
  await db.close()
}

/** Text as HTML has it. */
function safe(text) {
  return String(text).replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign])
}

function html(events, groups, info) {
  const row = (cells, tag = 'td') => `<tr>${cells.map((cell) => `<${tag}>${safe(cell)}</${tag}>`).join('')}</tr>`
  const strongest = [...events].sort((a, b) => b.mag - a.mag).slice(0, 12)
  const dots = events
    .filter(({ latitude, longitude }) => typeof latitude === 'number' && typeof longitude === 'number')
    .map(({ latitude, longitude, mag, type, place }) => {
      const radius = Math.max(0.6, (mag ?? 0) * 0.8).toFixed(1)
      const title = safe(`${mag} ${type}: ${place}`)
      return `<circle cx="${(longitude + 180).toFixed(2)}" cy="${(90 - latitude).toFixed(2)}" r="${radius}" class="${type === 'earthquake' ? 'quake' : 'blast'}"><title>${title}</title></circle>`
    })
  const days = new Map()
  for (const { time } of events) {
    const day = new Date(time).toISOString().slice(0, 10)
    days.set(day, (days.get(day) ?? 0) + 1)
  }
  const most = Math.max(...days.values())
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A week of earthquakes</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1c2430; background: #fbfbf9 }
  h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
  p { margin: .25rem 0 1rem; color: #566 }
  svg { width: 100%; background: #e9eff3; border-radius: 6px }
  .quake { fill: #c2410c; fill-opacity: .35 } .blast { fill: #1d4ed8; fill-opacity: .6 }
  table { border-collapse: collapse; width: 100% } th, td { padding: .25rem .6rem; text-align: left; border-bottom: 1px solid #dde }
  td { font-variant-numeric: tabular-nums } th { color: #566; font-weight: 600 }
  meter { width: 100% }
</style>
</head>
<body>
<h1>A week of earthquakes</h1>
<p id="summary">${events.length} events, ${groups.length} groups, ${info.partitions.length} partitions; read from the journal by Node.</p>
<svg viewBox="0 0 360 180" role="img" aria-label="Where the earth shook">${dots.join('')}</svg>
<h2>Groups</h2>
<table id="groups">
${row(['group', 'lag', 'in flight', 'delayed', 'dead letters', 'frontiers'], 'th')}
${groups.map(({ name, lag, inflightCount, delayedCount, deadLetterCount }) => row([name, lag.lag, inflightCount, delayedCount, deadLetterCount, Object.values(lag.partitions).map(({ frontier }) => frontier).join(' · ')])).join('\n')}
</table>
<h2>Partitions</h2>
<table id="partitions">
${row(['partition', 'first', 'last', 'bytes'], 'th')}
${info.partitions.map(({ partition, firstSequence, highWatermark, bytes }) => row([partition, firstSequence, highWatermark, bytes])).join('\n')}
</table>
<h2>Days</h2>
<table id="days">
${[...days].sort().map(([day, count]) => `<tr><td>${day}</td><td>${count}</td><td><meter max="${most}" value="${count}"></meter></td></tr>`).join('\n')}
</table>
<h2>The strongest</h2>
<table id="strongest">
${row(['magnitude', 'when', 'where', 'event'], 'th')}
${strongest.map(({ mag, time, place, partition, sequence }) => row([mag.toFixed(1), new Date(time).toISOString().slice(0, 16).replace('T', ' '), place, `${partition}/${sequence}`])).join('\n')}
</table>
</body>
</html>
`
}
