import type { AgentToolResult } from '@earendil-works/pi-coding-agent'

/** Returns a tool result of text only. */
export const textResult = (text: string): AgentToolResult<undefined> => ({
  content: [{ type: 'text', text }],
  details: undefined,
})
