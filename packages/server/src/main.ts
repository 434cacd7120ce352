import { enableCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { releaseVersion } from './kit/version.ts'

// A start spends a fifth of its time on compiling modules that have not changed. The cache lies beside the packages, where
// only whoever may change them can write; without it the service starts as well.
enableCompileCache(resolve(import.meta.dirname, '../../../node_modules/.cache/berth/compiled'))

export const { serve } = await import('./run-service.ts')

if (import.meta.main) {
  if (process.argv[2] === '--version') process.stdout.write(`${releaseVersion}\n`)
  else process.exitCode = await serve(process.env)
}
