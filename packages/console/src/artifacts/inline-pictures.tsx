import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { pictureType } from '../files/file-text.ts'
import { PictureBytes } from '../files/picture.tsx'
import { printableLine } from '../ui/printable.ts'
import type { MaybePicture } from './pictures.ts'
import { artifactContentQuery } from './queries.ts'

/** A picture that an agent made, beside the one that an earlier Run kept by the same name. */
export function InlinePictures({ picture, before }: { picture: MaybePicture; before: MaybePicture | undefined }) {
  if (before === undefined) return <InlinePicture picture={picture} />
  return (
    <span className="grid w-full grid-cols-2 gap-2">
      <InlinePicture picture={before} caption="Before" />
      <InlinePicture picture={picture} caption="After" />
    </span>
  )
}

/** Its place has the same height before and after its bytes are there, which are loaded once it comes into view. */
function InlinePicture({ picture, caption }: { picture: MaybePicture; caption?: string }) {
  const [isSeen, setSeen] = useState(false)
  const [isBroken, setBroken] = useState(false)
  const { data, isError } = useQuery({ ...artifactContentQuery(picture), enabled: isSeen })
  const watch = (node: HTMLElement | null) => {
    if (node === null) return
    const observer = new IntersectionObserver(entries => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true)
    })
    observer.observe(node)
    return () => observer.disconnect()
  }
  const [attach] = useState(() => watch)
  const type = data === undefined ? null : pictureType(data)
  const name = printableLine(picture.name)
  const isShown = data !== undefined && type !== null && !isBroken
  return (
    <span ref={attach} className="block min-w-0">
      <span
        className={`${isShown ? 'checkered' : 'bg-surface'} flex h-56 items-center justify-center overflow-hidden rounded-md border border-line`}
      >
        {isShown ? (
          <PictureBytes
            bytes={data}
            type={type}
            alt={caption === undefined ? name : `${name}, ${caption.toLowerCase()}`}
            onError={() => setBroken(true)}
            className="max-h-full max-w-full object-contain"
          />
        ) : (
          <span className="px-3 text-center text-xs text-ink-3">
            {(isError || isBroken || data !== undefined) && 'This picture cannot be shown.'}
          </span>
        )}
      </span>
      {caption !== undefined && <span className="mt-1 block text-center text-xs text-ink-3">{caption}</span>}
    </span>
  )
}
