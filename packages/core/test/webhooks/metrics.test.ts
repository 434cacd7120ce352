import type { ServerResponse } from 'node:http'
import { startAccounts } from '@berth/testing/accounts/accounts.ts'
import { until } from '@berth/testing/until.ts'
import { Receiver } from '@berth/testing/webhooks/receiver.ts'
import { ScriptedNetwork } from '@berth/testing/webhooks/scripted-network.ts'
import { expect, it } from 'vitest'

it('the metrics count attempts by outcome, ended deliveries, and those that are due', async () => {
  await using receiver = await Receiver.open(null)
  const network = new ScriptedNetwork()
  const [answering, closed] = ['http://127.0.0.1:9000', 'http://127.0.0.1:9001']
  network.ports.set('127.0.0.1:9000', receiver.port)
  const config = { webhooks: { allow: [answering, closed] } }
  await using accounts = await startAccounts({ network, config, variables: { BERTH_METRICS_PORT: '0' } })
  const { api } = await accounts.person({ permissions: ['organization.applications.manage'] })
  const { appSlug, installationId } = accounts.test.tenant
  const all = `/api/apps/${appSlug}/installations/${installationId}/webhooks`

  const ping = async (origin: string) => {
    const made = await api.call('POST', all, { url: `${origin}/hook`, families: ['run'] })
    expect((await api.call('POST', `${all}/${Object(made.body['endpoint']).id}/ping`)).status).toBe(202)
  }
  const shows = (...expected: readonly string[]) =>
    until(expected.join(', '), async () => {
      const text = await (await fetch(`http://127.0.0.1:${accounts.test.service.metricsPort}/metrics`)).text()
      const lines = text.split('\n').filter(line => line.startsWith('berth_webhook_'))
      return expected.every(line => lines.includes(line))
    })

  await shows('berth_webhook_deliveries_due 0', 'berth_webhook_deliveries_due_age_seconds 0')
  const waiting: ServerResponse[] = []
  receiver.answer = response => waiting.push(response)
  await ping(answering)
  await shows('berth_webhook_deliveries_due 1')
  await until('a request', () => waiting.length === 1)
  waiting[0]?.writeHead(204).end()
  await shows('berth_webhook_attempts_total{outcome="2xx"} 1', 'berth_webhook_deliveries_due 0')
  for (const status of [302, 503]) {
    receiver.answer = response => response.writeHead(status).end()
    await ping(answering)
    await shows(`berth_webhook_attempts_total{outcome="${Math.floor(status / 100)}xx"} 1`)
  }
  await ping(closed)
  await shows(
    'berth_webhook_attempts_total{outcome="connection_failed"} 1',
    'berth_webhook_deliveries_ended_total{status="succeeded"} 1',
    'berth_webhook_deliveries_due 0',
  )
})
