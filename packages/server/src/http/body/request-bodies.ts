import type { IncomingMessage } from 'node:http'
import { limits, operationOf } from '@berth/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { announcesBody } from '../request/media-type.ts'
import type { FormBody } from '../routing/handler.ts'
import { type BodyBounds, BodyBudget, type BodyOwner } from './body-budget.ts'
import { BodyBuffer } from './body-buffer.ts'
import { type BodyLimits, type BodyReading, readBody, watchArrival } from './body-reader.ts'

/** Values of a body: no body that the API takes comes near this; the gateway takes long conversations. */
const apiValues = 20_000
const gatewayValues = 200_000

/** What bodies are held to, by who takes them. */
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
  /** What a body of the gateway's is held to. */
  readonly gateway: BodyLimits

  constructor({ bounds, apiBytes = limits.bodyBytes, gatewayBytes = apiBytes }: BodyRules) {
    const { patienceMs } = bounds
    this.#budget = new BodyBudget(bounds)
    this.#patienceMs = patienceMs
    this.#api = { bytes: apiBytes, values: apiValues, patienceMs }
    this.gateway = { bytes: gatewayBytes, values: gatewayValues, patienceMs }
  }

  /** Bytes of bodies that are held now. */
  get heldBytes(): number {
    return this.#budget.bytes
  }

  /** Takes over the parsing of every body. Call it before the routes are there. */
  register(app: FastifyInstance): void {
    app.decorateRequest('bodyClaim', null)
    app.removeAllContentTypeParsers()
    app.addHook('preParsing', async (request, reply) => {
      if (announcesBody(request.headers) || takesForm(request)) this.#claim(request, reply)
    })
    app.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) => this.#read(request, payload))
  }

  /** The form of a request, for its handler. */
  formOf({ raw, bodyClaim }: FastifyRequest): FormBody {
    if (bodyClaim === null) throw new Error('a form was asked for that nobody sent')
    return {
      stream: raw,
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
      watch: late => watchArrival(raw, this.#patienceMs, late),
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
    const { bodyAhead, bodyClaim } = request
    if (takesForm(request) || bodyClaim === null) return undefined
    const length = Number(request.headers['content-length'] ?? Number.NaN)
    if (bodyAhead !== null) {
      // It was begun before its sender was known, and is at most what Node reads in by itself.
      if (!bodyClaim.grow(length)) return { kind: 'no_room' }
      await bodyAhead
      return undefined
    }
    return readBody(payload, length, request.gatewayAdmission === null ? this.#api : this.gateway, bodyClaim)
  }
}

/** Whose budget a body counts against; null where the guard has let nobody in. */
function ownerOf({ admission, gatewayAdmission }: FastifyRequest): BodyOwner | null {
  if (gatewayAdmission !== null) {
    const { organizationId, run, apiKeyId, kind } = gatewayAdmission.caller
    return { organizationId, id: run?.runId ?? apiKeyId ?? kind }
  }
  return admission === null ? null : admission.principal
}

/** Whether the body is a form, which is left to the handler. */
function takesForm({ routeOptions }: FastifyRequest): boolean {
  const { operationId } = routeOptions.config
  return operationId !== undefined && operationOf(operationId).form !== undefined
}
