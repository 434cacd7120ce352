import { type ComponentProps, createContext, memo, use } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import { CitedFile } from '../files/cited-file.tsx'
import { printableLine } from '../ui/printable.ts'
import { readGfm } from './gfm.ts'
import { linkHost, saysHost } from './link-host.ts'
import { safeUrl } from './safe-url.ts'

/** The host stands beside the words, which may name another: a phone shows no `title`. */
function AgentLink({ href, children }: ComponentProps<'a'>) {
  if (href === undefined || href === '') return <span>{children}</span>
  const host = printableLine(linkHost(href))
  const namesHost = typeof children === 'string' && saysHost(children, href)
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={host}>
      {children}
      {/* Words that turn the reading order turn nothing in a `bdi`. */}
      {!namesHost && <bdi className="text-ink-3"> ({host})</bdi>}
    </a>
  )
}

/** A remote image would tell its host who reads, so it is named and not loaded. */
function AgentImage({ alt, src }: ComponentProps<'img'>) {
  return (
    <span className="text-ink-3">
      [image{alt === undefined || alt === '' ? '' : `: ${alt}`}
      {typeof src === 'string' && safeUrl(src) !== '' && (
        <>
          {' '}
          <AgentLink href={src}>{printableLine(linkHost(src))}</AgentLink>
        </>
      )}
      ]
    </span>
  )
}

const InBlock = createContext(false)

/** Code in a line that names a file leads there. */
function AgentCode({ children }: ComponentProps<'code'>) {
  const code = <code>{children}</code>
  return use(InBlock) || typeof children !== 'string' ? code : <CitedFile text={children}>{code}</CitedFile>
}

const components: Components = {
  a: ({ href, children }) => <AgentLink {...(href === undefined ? {} : { href })}>{children}</AgentLink>,
  img: ({ alt, src }) => <AgentImage alt={alt} src={src} />,
  pre: ({ children }) => (
    <pre tabIndex={0}>
      <InBlock value={true}>{children}</InBlock>
    </pre>
  ),
  code: ({ children }) => <AgentCode>{children}</AgentCode>,
  input: ({ checked }) => <span>{checked === true ? '☑ ' : '☐ '}</span>,
  // The page has its own outline; an agent's headings are one level in it, even if they skip levels.
  h1: ({ children }) => <h2 data-level="1">{children}</h2>,
  h2: ({ children }) => <h2 data-level="2">{children}</h2>,
  h3: ({ children }) => <h2>{children}</h2>,
  h4: ({ children }) => <h2>{children}</h2>,
  h5: ({ children }) => <h2>{children}</h2>,
  h6: ({ children }) => <h2>{children}</h2>,
}

const plugins = [readGfm]

/** Shows Markdown as elements. HTML comes out as text, and nothing is loaded. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="prose-agent">
      <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={safeUrl}>
        {text}
      </ReactMarkdown>
    </div>
  )
})
