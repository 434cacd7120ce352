/** Writes the parts of the client package that come from the contract: its types, and how each operation is sent. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { printClient } from './client/print-operations.ts'

const folder = join(import.meta.dirname, '../packages/client/src/generated')
const { types, table } = printClient()
writeFileSync(join(folder, 'types.ts'), types)
writeFileSync(join(folder, 'operation-table.ts'), table)
