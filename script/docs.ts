/** Writes the pages under `docs/` that are made from the code. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderSettings } from './docs/settings-page.ts'

writeFileSync(join(import.meta.dirname, '..', 'docs', 'settings.md'), renderSettings())
