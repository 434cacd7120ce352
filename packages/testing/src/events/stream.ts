/** One message of a stream. */
export interface StreamFrame {
  readonly id: string | undefined
  readonly data: string | undefined
  /** Names of its fields, in order. */
  readonly fields: readonly string[]
}

/** An open stream of server-sent events, read block by block. */
export interface OpenedStream extends AsyncDisposable {
  readonly status: number
  readonly headers: Headers
  /** Reads the next block, comments included; returns undefined at the end. */
  next(): Promise<string | undefined>
  /** Reads the next messages; returns fewer if the stream ends first. */
  take(count: number): Promise<StreamFrame[]>
}

/** Opens a stream; disposing of it disconnects. */
export async function openStream(url: string, headers: Record<string, string>): Promise<OpenedStream> {
  const leaving = new AbortController()
  const response = await fetch(url, { headers, signal: leaving.signal })
  const blocks = readBlocks(response)
  const next = async () => (await blocks.next()).value ?? undefined
  return {
    status: response.status,
    headers: response.headers,
    next,
    async take(count) {
      const frames: StreamFrame[] = []
      while (frames.length < count) {
        const block = await next()
        if (block === undefined) break
        if (!block.startsWith(':')) frames.push(frameOf(block))
      }
      return frames
    },
    async [Symbol.asyncDispose]() {
      leaving.abort()
    },
  }
}

async function* readBlocks(response: Response): AsyncGenerator<string, undefined> {
  if (response.body === null) return
  let rest = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    rest += chunk
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      yield rest.slice(0, end)
      rest = rest.slice(end + 2)
    }
  }
}

function frameOf(block: string): StreamFrame {
  const lines = block.split('\n').map(line => {
    const colon = line.indexOf(': ')
    return [line.slice(0, colon), line.slice(colon + 2)] as const
  })
  const value = (name: string) => lines.find(([field]) => field === name)?.[1]
  return { id: value('id'), data: value('data'), fields: lines.map(([field]) => field) }
}
