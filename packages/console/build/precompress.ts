import { join } from 'node:path'
import type { Plugin } from 'vite'
import { precompress as precompressFolder } from '../../../script/lib/precompress.ts'

/** Compresses every text asset once the page is built. */
export function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    writeBundle: ({ dir = '' }) => precompressFolder(join(dir, 'assets')),
  }
}
