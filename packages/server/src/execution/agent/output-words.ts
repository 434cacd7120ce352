import type { OutputIssue } from '../../sessions/outputs/judge-output.ts'

/** Tells an agent to answer with JSON that satisfies a schema. */
export const outputOrder = (schema: string): string =>
  `Your answer has to be JSON. When your work is done, end your last message with one fenced block that begins with \`\`\`json and holds a single JSON value, and write nothing after it. The value has to satisfy this JSON Schema:\n\n${schema}`

/** Tells an agent what is wrong with the JSON of its last message, and asks for it once more. */
export const outputCorrection = (schema: string, issues: readonly OutputIssue[]): string =>
  [
    'The JSON of your last message does not satisfy the JSON Schema that was asked for:',
    issues
      .map(({ path, message }) => `- ${path.length === 0 ? 'the value' : `/${path.join('/')}`} ${message}`)
      .join('\n'),
    `Answer once more, with one fenced block that begins with \`\`\`json and holds a single JSON value that satisfies the schema, and nothing else:\n\n${schema}`,
  ].join('\n\n')
