import type { IncomingHttpHeaders } from 'node:http'
import { dialectOfSender } from '@berth/contract'

/** The parts of a request that decide whose path it has. */
interface Sent {
  readonly method?: string | undefined
  readonly headers: IncomingHttpHeaders
}

/** A path of Google's below its version. Its last segment may end in an action, after a colon. */
const googlePath = /^\/v1beta\/(models\/)?([^?#]+?)(:\w+)?(?=[?#]|$)/
/** The same under the other version. OpenAI's and Anthropic's paths begin with it as well. */
const ofVersion1 =
  /^\/v1\/(?:models\/[^?#]+:\w+|[^?#]+:(?:generateContent|streamGenerateContent|countTokens))(?=[?#]|$)/
const modelPath = /^(\/v1\/models\/)([^?#]+)/
const modelsPath = /^\/v1\/models(?=[/?#]|$)/

/**
 * Rewrites a path of the gateway's to the one in the route table. Google's clients use either version, leave `models/`
 * out of the path of a model whose id has a slash, and do not escape slashes. The same paths without an action list
 * models for OpenAI's and Anthropic's clients, unless the request carries Google's key.
 */
export function gatewayTarget(target: string, { method, headers }: Sent): string {
  const isGoogles = (method === 'POST' && ofVersion1.test(target)) || isGooglesList(target, headers)
  const url = isGoogles ? target.replace('/v1/', '/v1beta/') : target
  return url
    .replace(googlePath, (path, models: string | undefined, id: string, action = '') =>
      models === undefined && action === '' ? path : `/v1beta/models/${escaped(id)}${action}`,
    )
    .replace(modelPath, (_, models: string, id: string) => models + escaped(id))
}

const isGooglesList = (target: string, headers: IncomingHttpHeaders): boolean =>
  modelsPath.test(target) && dialectOfSender(headers) === 'google'

const escaped = (id: string): string => id.replaceAll('/', '%2F')
