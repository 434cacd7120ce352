import { ownCredentials } from '@berth/platform/kit/redactor.ts'

const maxCharacters = 1000
/** Providers' keys by their prefix, masked or whole: a provider repeats the key that it refuses. */
const keyLike = /\b(?:sk|pk|rk|key|gsk|xai|hf|nvapi|pplx|AIza|Bearer )[-_A-Za-z0-9*.]{8,}/g
/**
 * Keys without a known prefix: a long run of letters and digits. Ids of calls, answers and requests look the same and
 * tell a client which one was wrong, so their prefixes are exempt.
 */
const opaque =
  /(?<![A-Za-z0-9_+/])(?!(?:call|toolu|srvtoolu|req|request|msg|resp|rs|fc|file|chatcmpl)_)(?=[A-Za-z_+/]*\d)(?=[\d_+/]*[A-Za-z])[A-Za-z0-9_+/]{24,}={0,2}/g

/**
 * Returns a provider's words for a client: without credentials, and bounded in length. Credentials are recognised by
 * form, never by value. A provider echoes what a client sends, so masking by value would confirm a client's guess of a
 * key.
 */
export function upstreamReason(text: string): string {
  const clean = ownCredentials.text(text).replaceAll(keyLike, '[secret]').replaceAll(opaque, '[secret]').toWellFormed()
  return clean.length > maxCharacters ? `${clean.slice(0, maxCharacters).toWellFormed()}…` : clean
}

/** Returns the message of a provider's error if it is JSON in a known form. */
export function detailOfError(body: string): { reason: string | undefined; param: string | null } {
  try {
    const parsed: unknown = JSON.parse(body)
    const holder = Array.isArray(parsed) ? parsed[0] : parsed
    const error = holder?.error ?? holder
    const message = typeof error === 'string' ? error : (error?.message ?? holder?.message)
    return {
      reason: typeof message === 'string' ? upstreamReason(message) : undefined,
      param: typeof error?.param === 'string' ? upstreamReason(error.param) : null,
    }
  } catch {
    return { reason: undefined, param: null }
  }
}
