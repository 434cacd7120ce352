// Measures how soon an event of a followed pull request is a Turn: a played GitHub reports a red check by a webhook, and the
// time runs from the post to the Turn's admission. With `polled` no webhook comes: the service asks the host every five
// seconds in place of 120. Each event comes while the follow-up rests, and its figure is the whole 120 s, which an event right
// after a look waits for, and what passes from the next look to the Turn. Run as: node bench/follow-up.ts [events] [polled]
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FollowUp, TurnPage } from '@berth/contract'
import { Api } from '../packages/testing/src/api/api.ts'
import { gitHostConfig } from '../packages/testing/src/git/git-host-config.ts'
import { GitHubServer } from '../packages/testing/src/git/github-server.ts'
import { GitHubTriggers } from '../packages/testing/src/triggers/github-triggers.ts'
import { until } from '../packages/testing/src/until.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { printBounds, quantile } from './support/statistics.ts'

const BOUND_MS = 1000
const POLLED_BOUND_MS = 150_000
const POLL_MS = 120_000
const BENCH_POLL_MS = 5_000
const polled = process.argv[3] === 'polled'
/** A follow-up makes twenty attempts at most. */
const count = Math.min(Number(process.argv[2] ?? 12), 20)

await using bench = await openBenchDatabase()
await using stack = new AsyncDisposableStack()
stack.defer(() => removeSandboxes(bench.dataDir))
const server = stack.use(await GitHubServer.start())
await writeFile(join(bench.dataDir, 'berth.json'), JSON.stringify({ gitHosts: [gitHostConfig(server)] }), {
  mode: 0o600,
})
const variables = { BERTH_ROLES: 'api,account,worker', BERTH_EGRESS: 'none' }
const service = stack.use(await startBenchService(bench, variables, polled ? { followPollMs: BENCH_POLL_MS } : {}))
const api = new Api(service.url, bench.apiKey)
const { organizationId, installationId, dataDir } = bench
const test = { api, dataDir, url: service.url, tenant: { organizationId, installationId }, db: { database: bench.db } }
const at = GitHubTriggers.within(test as never, server, stack)
const site = await at.repository()
server.checks.byProtection = ['unit']
const trigger = await at.make(
  { on: ['comment', 'check_failed'] },
  {
    message: 'cd /workspace/project; date +%N > made',
    session: { runtime: 'shell' },
    deliver: { kind: 'pull_request', followUp: { maxAttempts: 20 } },
  },
)
const { sessionId } = await at.fire(trigger, site.events.comment('@berth make it'))
const path = await until('the publication', async () => {
  const [delivery] = await at.deliveries(trigger)
  const { state, id } = delivery?.publication ?? {}
  return state === 'published' && `/v1/sessions/${sessionId}/publications/${id}/follow-up`
})
const followUpAfter = (attempts: number) =>
  until('the follow-up to wait', async () => {
    const { followUp } = (await api.get<{ followUp?: FollowUp }>(path)).body
    return followUp?.attempts === attempts && followUp.state === 'watching' && followUp
  })
/** When a follow-up at rest asks its host next. */
const nextLook = () =>
  until('the follow-up to rest', async () => {
    const { rows } = await bench.db.query<{ due_at: Date }>(
      `select due_at from follow_ups where due_at > now() + interval '1 second' and claim is null and cursor is not null`,
    )
    return rows[0]?.due_at.getTime()
  })
const took: number[] = []
for (let attempt = 0; attempt < count; attempt += 1) {
  const { headSha, pullRequest } = await followUpAfter(attempt)
  const posted = polled ? (await nextLook()) - POLL_MS : Date.now()
  server.actions.run(site.id, headSha ?? '', 'unit', { conclusion: 'failure', log: 'made is wrong\n' })
  const branch = `svc/${sessionId}`
  const event = site.events.check({ branch, oid: headSha ?? '' }, { pull: pullRequest.number })
  if (!polled) await at.post(trigger, event)
  const turn = await until('the Turn', async () => {
    const { turns } = (await api.get<TurnPage>(`/v1/sessions/${sessionId}/turns`)).body
    return turns[attempt + 1]
  })
  took.push(Date.parse(turn.createdAt) - posted)
}
process.stdout.write(`event to Turn, ms: ${took.join(', ')}; p90 ${quantile(took, 0.9)}\n`)
printBounds(
  polled
    ? {
        polled_event_to_turn_p50_ms: [quantile(took, 0.5), POLLED_BOUND_MS],
        polled_event_to_turn_max_ms: [Math.max(...took), POLLED_BOUND_MS],
      }
    : { event_to_turn_ms: [quantile(took, 0.5), BOUND_MS] },
)
