import type { WebhookDelivery, WebhookDeliveryStatus, WebhookEndpoints } from '@berth/client'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { printTable } from '../table.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { type EndpointOptions, endpointsOf } from './webhooks.ts'

export interface DeliveriesOptions extends EndpointOptions {
  readonly limit: number
  readonly status?: WebhookDeliveryStatus
}

export interface ReplayOptions extends EndpointOptions {
  readonly session: string
  readonly after: number
}

const pageMax = 100

/** Lists the deliveries of an endpoint, the newest first. */
export async function deliveries(endpointId: string, options: DeliveriesOptions, io: CommandIo): Promise<ExitCode> {
  const { stdout, stderr } = io
  const rows: (readonly string[])[] = []
  for await (const delivery of readDeliveries(endpointsOf(options, io), endpointId, options)) {
    if (options.json) await stdout.line(jsonLine(delivery))
    else rows.push(deliveryRow(delivery))
  }
  if (options.json) return exitCode.completed
  if (rows.length === 0) await stderr.line('berth: there are no such deliveries')
  else {
    const header = ['DELIVERY', 'TYPE', 'SESSION', 'STATUS', 'ATTEMPTS', 'LAST', 'NEXT ATTEMPT']
    await printTable(header, rows, stdout)
  }
  return exitCode.completed
}

async function* readDeliveries(
  endpoints: WebhookEndpoints,
  endpointId: string,
  { limit, status }: DeliveriesOptions,
): AsyncGenerator<WebhookDelivery> {
  let cursor: string | null = null
  for (let left = limit; left > 0; ) {
    const page: Awaited<ReturnType<WebhookEndpoints['deliveries']>> = await endpoints.deliveries(endpointId, {
      limit: Math.min(left, pageMax),
      ...(status !== undefined && { status }),
      ...(cursor !== null && { cursor }),
    })
    yield* page.deliveries
    left -= page.deliveries.length
    if (!page.hasMore || page.nextCursor === null) return
    cursor = page.nextCursor
  }
}

function deliveryRow({ id, type, sessionId, status, attempts, nextAttemptAt }: WebhookDelivery): readonly string[] {
  const last = attempts.at(-1)
  const outcome = last === undefined ? '-' : String(last.status ?? last.error)
  return [id, type, sessionId ?? '-', status, String(attempts.length), outcome, nextAttemptAt ?? '-']
}

/** Gives a delivery six new attempts. */
export async function redeliver(
  endpointId: string,
  deliveryId: string,
  options: EndpointOptions,
  io: CommandIo,
): Promise<ExitCode> {
  const { delivery } = await endpointsOf(options, io).redeliver(endpointId, deliveryId)
  return printDue(delivery, options, io)
}

/** Sends a signed ping. */
export async function ping(endpointId: string, options: EndpointOptions, io: CommandIo): Promise<ExitCode> {
  const { delivery } = await endpointsOf(options, io).ping(endpointId)
  return printDue(delivery, options, io)
}

/** Prints the id of a delivery alone, so that a script can use it. */
async function printDue(delivery: WebhookDelivery, { json }: EndpointOptions, io: CommandIo): Promise<ExitCode> {
  await io.stdout.line(json ? jsonLine(delivery) : printableLine(delivery.id))
  if (!json) await io.stderr.line('berth: the delivery is due; `berth webhooks deliveries` shows how it goes')
  return exitCode.completed
}

/** Sends a Session's Events again, all after a sequence, in as many requests as that takes. */
export async function replay(endpointId: string, options: ReplayOptions, io: CommandIo): Promise<ExitCode> {
  const { session: sessionId, json } = options
  const endpoints = endpointsOf(options, io)
  let queued = 0
  for (let after: number | undefined = options.after; after !== undefined; ) {
    const answer: Awaited<ReturnType<WebhookEndpoints['replay']>> = await endpoints.replay(endpointId, {
      sessionId,
      after,
    })
    queued += answer.queued
    after = answer.lastSequence
  }
  await io.stdout.line(json ? jsonLine({ queued }) : `${queued} ${queued === 1 ? 'event is' : 'events are'} due`)
  return exitCode.completed
}
