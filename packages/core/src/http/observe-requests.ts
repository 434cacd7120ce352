import { randomBytes } from 'node:crypto'
import { nowMs, placeIn, recordRequest, type SpanPlace, within } from '@berth/platform/telemetry/observe.ts'
import { readTraceparent } from '@berth/platform/telemetry/traceparent.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'

interface Begun {
  readonly beganMs: number
  readonly place: SpanPlace
  readonly parent: SpanPlace | null
}

/** Tells observers of every request, and makes a Turn that it admits point back to it. */
export function observeRequests(app: FastifyInstance): void {
  const begun = new WeakMap<FastifyRequest, Begun>()
  app.addHook('onRequest', (request, _reply, done) => {
    const parent = readTraceparent(request.headers['traceparent'])
    const place = { ...placeIn(parent?.traceId ?? randomBytes(16).toString('hex')), ...sampling(parent) }
    begun.set(request, { beganMs: nowMs(), place, parent })
    within(place, done)
  })
  app.addHook('onResponse', async (request, reply) => {
    const found = begun.get(request)
    if (found === undefined) return
    recordRequest({
      ...found,
      endedMs: nowMs(),
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      requestId: request.id,
    })
  })
}

const sampling = (parent: SpanPlace | null) => (parent?.sampled === undefined ? {} : { sampled: parent.sampled })
