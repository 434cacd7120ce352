import { type TableAccess, tables } from '../imports/tables.ts'

const introduction = `# Who writes which table

<!-- Made by \`node script/docs.ts\` from \`script/imports/tables.ts\`; do not edit. -->

For people who add a statement. The folders that write a table own its rules; another folder asks them, or reads the table in a
statement of its own if it must see both at one moment. Folders are written as imports are, and include those inside them.
\`npm run imports\` refuses any other statement. [Folders](folders.md#the-import-rule) has the rule.

| table | written in | also read in |
|---|---|---|
`

/** Returns the page of the tables' owners, made from the list that `npm run imports` checks. */
export function renderTables(): string {
  return introduction + Object.entries(tables).map(row).join('')
}

function row([table, { writes, reads = [], note }]: [string, TableAccess]): string {
  const owners = writes.length > 0 ? listed(writes) : 'nobody: it is a view'
  return `| \`${table}\` | ${owners}${note === undefined ? '' : `; ${note}`} | ${listed(reads)} |\n`
}

const listed = (folders: readonly string[]): string => [...new Set(folders)].map(folder => `\`${folder}/\``).join(', ')
