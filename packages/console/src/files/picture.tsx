import { type ComponentProps, useState } from 'react'

type Bytes = Uint8Array<ArrayBuffer>

/**
 * A picture that an agent made. Its bytes are shown by the browser's picture decoder alone: no script in it runs, and it
 * loads nothing.
 */
export function PictureBytes({
  bytes,
  type,
  alt,
  ...rest
}: { bytes: Bytes; type: string; alt: string } & Pick<ComponentProps<'img'>, 'onLoad' | 'onError' | 'className'>) {
  // Revoked with the element, so that the browser gives the bytes back.
  const show = (image: HTMLImageElement | null) => {
    if (image === null) return
    const url = URL.createObjectURL(new Blob([bytes], { type }))
    image.src = url
    return () => URL.revokeObjectURL(url)
  }
  const [attach] = useState(() => show)
  return <img ref={attach} alt={alt} {...rest} />
}

/** A picture with its size. */
export function Picture({ bytes, type, name }: { bytes: Bytes; type: string; name: string }) {
  const [broken, setBroken] = useState(false)
  const [size, setSize] = useState('')
  if (broken) return <p className="px-6 py-16 text-center text-ink-2">This picture is damaged.</p>
  return (
    <figure className="flex h-full min-h-0 flex-col items-center gap-2 p-4">
      <PictureBytes
        bytes={bytes}
        type={type}
        alt={name}
        onLoad={({ currentTarget }) => setSize(`${currentTarget.naturalWidth} × ${currentTarget.naturalHeight}`)}
        onError={() => setBroken(true)}
        className="checkered min-h-0 max-w-full rounded-md border border-line object-contain"
      />
      <figcaption className="text-xs text-ink-3 tabular-nums">{size}</figcaption>
    </figure>
  )
}
