/**
 * Measures Publications on the `local` host from admission to success, each a pull request from its own branch. It
 * needs a running service and a Session with changes: `node bench/publication.ts <session> [count]`, with `BERTH_URL`
 * and `BERTH_API_KEY` as for the command line.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../packages/client/src/index.ts'
import { quantile, show } from './support/statistics.ts'

const [sessionId = '', count = '9'] = process.argv.slice(2)
const client = createClient({
  baseUrl: process.env['BERTH_URL'] ?? 'http://127.0.0.1:4100',
  credential: process.env['BERTH_API_KEY'] ?? '',
})
const { review } = await client.call('reviewRepository', { sessionId })
const figures: number[] = []
for (let at = 0; at < Number(count); at++) {
  const id = randomUUID()
  const order = { revision: review.revision, title: 'Measured', branch: `measured/${id}` }
  let { publication } = await client.call('createPublication', { sessionId, publicationId: id, body: order })
  while (publication.completedAt === undefined) {
    await sleep(150)
    ;({ publication } = await client.call('getPublication', { sessionId, publicationId: id }))
  }
  if (publication.status !== 'succeeded') throw new Error(`it failed: ${publication.lastError?.code}`)
  figures.push(Date.parse(publication.completedAt) - Date.parse(publication.createdAt))
}
const spread = `${show(Math.min(...figures), 0)}-${show(Math.max(...figures), 0)}`
process.stdout.write(`publication, admitted to succeeded: median ${show(quantile(figures, 0.5), 0)} ms (${spread})\n`)
