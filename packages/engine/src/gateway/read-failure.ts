import type { Failure } from './model-fault.ts'

const MAX_BODY = 16_384

/** Reads the error object of a gateway response; a body that cannot be parsed becomes the message. */
export async function readFailure(response: Response): Promise<Failure> {
  const text = (await response.text().catch(() => '')).slice(0, MAX_BODY)
  const retryAfterMs = retryAfterOf(response.headers.get('retry-after'))
  return {
    status: response.status,
    message: text === '' ? `the gateway answered ${response.status}` : text,
    ...errorOf(text),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

function errorOf(text: string): { code?: string; message?: string } {
  try {
    const { error } = JSON.parse(text)
    // Berth's own errors put a string beside their message; OpenAI's put an object.
    const { code, message, details } = typeof error === 'string' ? { ...JSON.parse(text), code: error } : error
    // Google's form has the status as its code.
    const name = typeof code === 'string' ? code : details?.[0]?.reason
    return {
      ...(typeof name === 'string' && { code: name }),
      ...(typeof message === 'string' && { message }),
    }
  } catch {
    return {}
  }
}

function retryAfterOf(header: string | null): number | undefined {
  const seconds = Number(header)
  return header !== null && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined
}
