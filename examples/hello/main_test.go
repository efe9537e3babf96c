package main

func Example() {
	main()
	// Output:
	// 1 true
	// 3 true
}
