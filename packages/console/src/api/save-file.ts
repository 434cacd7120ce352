import { saveBytes } from '../ui/save-bytes.ts'
import { browserFetch, toBerthError } from './client.ts'

/**
 * Saves the answer of a path below `/cloud` as a file, under the answer's own name unless one is given. A plain link could
 * not say for which organization it asks.
 * @throws BerthError if the service refuses
 */
export async function saveFile(path: string, name?: string): Promise<void> {
  const response = await browserFetch(`/cloud/${path}`, { cache: 'no-store' })
  if (!response.ok) throw await toBerthError(response)
  const named = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1]
  saveBytes(await response.blob(), name ?? named ?? 'download')
}
