; Memory for the arrays that kernels make: it begins behind all else, and grows with what is needed. All of it is
; free again as soon as no array is left, which is many times in every call, since no call returns an array.

@top = internal global i32 0
@arrays = internal global i32 0
@__heap_base = external global i8
declare void @llvm.trap()
declare i32 @llvm.wasm.memory.size.i32(i32)
declare i32 @llvm.wasm.memory.grow.i32(i32, i32)

define void @free_all() {
  store i32 ptrtoint (ptr @__heap_base to i32), ptr @top
  store i32 0, ptr @arrays
  ret void
}

define ptr @allocate(i32 %size) noinline {
  %arrays = load i32, ptr @arrays
  %one_more = add i32 %arrays, 1
  store i32 %one_more, ptr @arrays
  %top = load i32, ptr @top
  %beyond = add i32 %top, 63
  %begin = and i32 %beyond, -64
  %end = add i32 %begin, %size
  store i32 %end, ptr @top
  %pages = call i32 @llvm.wasm.memory.size.i32(i32 0)
  %rounded = add i32 %end, 65535
  %needed = lshr i32 %rounded, 16
  %is_short = icmp ugt i32 %needed, %pages
  br i1 %is_short, label %grow, label %done
grow:
  %more = sub i32 %needed, %pages
  %before = call i32 @llvm.wasm.memory.grow.i32(i32 0, i32 %more)
  %failed = icmp eq i32 %before, -1
  br i1 %failed, label %full, label %done
full:
  call void @llvm.trap()
  unreachable
done:
  %address = inttoptr i32 %begin to ptr
  ret ptr %address
}

define void @release() {
  %arrays = load i32, ptr @arrays
  %one_less = sub i32 %arrays, 1
  store i32 %one_less, ptr @arrays
  %is_last = icmp eq i32 %one_less, 0
  br i1 %is_last, label %last, label %done
last:
  call void @free_all()
  br label %done
done:
  ret void
}

; What Numba's code calls: an array's head counts the references to it and points to its numbers.

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment) {
  %bytes = trunc i64 %size to i32
  %with_head = add i32 %bytes, 64
  %head = call ptr @allocate(i32 %with_head)
  %data = getelementptr i8, ptr %head, i32 64
  store i64 1, ptr %head
  %place = getelementptr { i64, ptr, ptr, ptr, i64 }, ptr %head, i32 0, i32 3
  store ptr %data, ptr %place
  ret ptr %head
}

define void @NRT_MemInfo_call_dtor(ptr %head) {
  call void @release()
  ret void
}

define ptr @NRT_Allocate(i64 %size) {
  %bytes = trunc i64 %size to i32
  %data = call ptr @allocate(i32 %bytes)
  ret ptr %data
}

define void @NRT_Free(ptr %data) {
  call void @release()
  ret void
}
