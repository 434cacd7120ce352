import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Writes `.br` and `.gz` beside every text below a folder, so that the service compresses nothing while it serves. */
export async function precompress(folder: string): Promise<void> {
  const names = globSync('**/*.{html,css,js,json,svg,txt}', { cwd: folder })
  await Promise.all(
    names.map(async name => {
      const path = join(folder, name)
      const content = readFileSync(path)
      // Level 9 costs a tenth of level 11 and leaves 4 % more bytes.
      const params = { [constants.BROTLI_PARAM_QUALITY]: 9 }
      writeFileSync(`${path}.br`, await promisify(brotliCompress)(content, { params }))
      writeFileSync(`${path}.gz`, await promisify(gzip)(content, { level: 9 }))
    }),
  )
}
