import type { AgentToolResult } from '@earendil-works/pi-coding-agent'

/** A tool's answer that is text and nothing else. */
export const textResult = (text: string): AgentToolResult<undefined> => ({
  content: [{ type: 'text', text }],
  details: undefined,
})
