import type { Answer, Api } from '../api/api.ts'

/** Uploads an archive as a caller does. */
export async function uploadTo(
  api: Api,
  environmentId: string,
  sha256: string,
  content: Buffer<ArrayBuffer> | ReadableStream,
  type = 'application/zip',
): Promise<Answer> {
  const response = await fetch(`${api.url}/v1/environments/${environmentId}/archives/${sha256}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${api.key}`, 'content-type': type },
    body: content,
    ...(content instanceof ReadableStream && { duplex: 'half' }),
  })
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text), text, headers: response.headers }
}
