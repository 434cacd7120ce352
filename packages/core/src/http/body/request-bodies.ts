import type { IncomingMessage } from 'node:http'
import { limits, operationOf } from '@berth/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { addressBucket } from '../../identity/guard/address-bucket.ts'
import { announcesBody } from '../request/media-type.ts'
import type { StreamBody } from '../routing/handler.ts'
import { type BodyBounds, BodyBudget, type BodyOwner } from './body-budget.ts'
import { BodyBuffer } from './body-buffer.ts'
import { type BodyLimits, type BodyReading, readBody, watchArrival } from './body-reader.ts'
import { readOctets } from './octet-stream.ts'

/**
 * Maximum number of values in a body. API bodies stay far below theirs; gateway bodies hold long conversations. To parse
 * and validate the largest of either kind holds the event loop for some 100 ms.
 */
const apiValues = 20_000
const gatewayValues = 100_000

/** The limits of bodies, for the API and the gateway. */
export interface BodyRules {
  readonly bounds: BodyBounds
  readonly apiBytes?: number
  /** Absent if this process has no gateway. */
  readonly gatewayBytes?: number | undefined
}

/** Reads the bodies of all routes, within the limits of the route and the budget of the process. */
export class RequestBodies {
  readonly #budget: BodyBudget
  readonly #patienceMs: number
  readonly #api: BodyLimits
  readonly #gateway: BodyLimits

  constructor({ bounds, apiBytes = limits.bodyBytes, gatewayBytes = apiBytes }: BodyRules) {
    const { patienceMs } = bounds
    this.#budget = new BodyBudget(bounds)
    this.#patienceMs = patienceMs
    this.#api = { bytes: apiBytes, values: apiValues, patienceMs }
    this.#gateway = { bytes: gatewayBytes, values: gatewayValues, patienceMs }
  }

  /** Bytes of bodies held now. */
  get heldBytes(): number {
    return this.#budget.bytes
  }

  /** Takes over the parsing of all bodies. Call it before registering routes. */
  register(app: FastifyInstance): void {
    app.decorateRequest('bodyClaim', null)
    app.removeAllContentTypeParsers()
    app.addHook('preParsing', async (request, reply) => {
      if (announcesBody(request.headers) || takesStream(request)) this.#claim(request, reply)
    })
    app.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) => this.#read(request, payload))
  }

  /** Returns the unread body of a request, for its handler. */
  streamOf({ raw, bodyClaim }: FastifyRequest): StreamBody {
    if (bodyClaim === null) throw new Error('the request has no body to stream')
    const watch = (late: () => void) => watchArrival(raw, this.#patienceMs, late)
    return {
      stream: raw,
      bytes: mostBytes => readOctets(raw, mostBytes, bodyClaim, watch),
      keep: mostBytes => {
        const buffer = new BodyBuffer(mostBytes)
        return {
          append(chunk) {
            if (!bodyClaim.grow(chunk.length)) return false
            buffer.append(chunk)
            return true
          },
          take: () => buffer.take(),
        }
      },
      watch,
    }
  }

  #claim(request: FastifyRequest, reply: FastifyReply): void {
    const owner = ownerOf(request)
    if (owner === null) return
    const claim = this.#budget.open(owner)
    request.bodyClaim = claim
    if (reply.raw.destroyed) claim.release()
    else reply.raw.once('close', () => claim.release())
  }

  async #read(request: FastifyRequest, payload: IncomingMessage): Promise<BodyReading | undefined> {
    const { bodyClaim } = request
    if (takesStream(request) || bodyClaim === null) return undefined
    const length = Number(request.headers['content-length'] ?? Number.NaN)
    return readBody(payload, length, request.gatewayAdmission === null ? this.#api : this.#gateway, bodyClaim)
  }
}

/**
 * Returns the owner of a body, or null if the guard admitted no one. Apps' backends and senders of hooks are metered by
 * their address.
 */
function ownerOf({ admission, browser, gatewayAdmission, routeOptions, ip }: FastifyRequest): BodyOwner | null {
  if (gatewayAdmission !== null) {
    const { organizationId, run, apiKeyId, kind } = gatewayAdmission.caller
    return { organizationId, id: run?.runId ?? apiKeyId ?? kind }
  }
  if (admission !== null) return admission.principal
  if (browser !== null) return { organizationId: 'browsers', id: browser.session.id }
  const { operationId } = routeOptions.config
  const access = operationId === undefined ? null : operationOf(operationId).access
  return access === 'assertion' || access === 'signed' ? { organizationId: access, id: addressBucket(ip) } : null
}

/** Returns whether the body is a form or an octet stream, which the handler reads itself. */
function takesStream({ routeOptions }: FastifyRequest): boolean {
  const { operationId } = routeOptions.config
  if (operationId === undefined) return false
  const { form, octets } = operationOf(operationId)
  return form !== undefined || octets !== undefined
}
